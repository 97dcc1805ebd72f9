//! Questions to the person in the middle of a turn: consent and clarification.

use talaria_types::{ApprovalAnswer, ApprovalRequest, Op, Question};

use crate::output::Style;

/// What is being asked.
pub(crate) enum Pending {
    /// Consent to a command.
    Approval(ApprovalRequest),
    /// Words.
    Question(Question),
}

impl Pending {
    /// The question as it is shown.
    pub(crate) fn shown(&self, style: Style) -> String {
        match self {
            Self::Approval(request) => {
                let always = if request.may_always { "/[a]lways" } else { "" };
                format!(
                    "{}\n  {}\n  {}\n  allow? [o]nce/[s]ession{always}/[d]eny: ",
                    style.warn(&format!("⚠ {} wants to run:", request.tool)),
                    style.bold(&request.command),
                    style.dim(&request.reason),
                )
            }
            Self::Question(question) => {
                let choices: String = question
                    .choices
                    .iter()
                    .enumerate()
                    .map(|(index, choice)| format!("\n  {}. {choice}", index + 1))
                    .collect();
                format!(
                    "{}{choices}\n  answer: ",
                    style.bold(&format!("? {}", question.text))
                )
            }
        }
    }

    /// The operation that a typed line means; nothing when it has to be asked again.
    pub(crate) fn answer(&self, line: &str) -> Option<Op> {
        match self {
            Self::Approval(request) => {
                let answer = consent(line, request.may_always)?;
                Some(Op::Approve {
                    id: request.id.clone(),
                    answer,
                })
            }
            Self::Question(question) => {
                let text = line.trim();
                let chosen = text
                    .parse::<usize>()
                    .ok()
                    .and_then(|number| number.checked_sub(1));
                let choice = chosen.and_then(|index| question.choices.get(index)).cloned();
                let text = choice.unwrap_or_else(|| text.to_owned());
                Some(Op::Reply {
                    id: question.id.clone(),
                    text: (!text.is_empty()).then_some(text),
                })
            }
        }
    }

    /// The operation when nobody answers.
    pub(crate) fn declined(&self) -> Op {
        match self {
            Self::Approval(request) => Op::Approve {
                id: request.id.clone(),
                answer: ApprovalAnswer::Deny,
            },
            Self::Question(question) => Op::Reply {
                id: question.id.clone(),
                text: None,
            },
        }
    }

    /// The request's id.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Approval(request) => &request.id,
            Self::Question(question) => &question.id,
        }
    }
}

/// A line as consent. Nothing but a clear yes is one; an empty line is a no.
fn consent(line: &str, may_always: bool) -> Option<ApprovalAnswer> {
    match line.trim().to_lowercase().as_str() {
        "o" | "once" | "y" | "yes" => Some(ApprovalAnswer::Once),
        "s" | "session" => Some(ApprovalAnswer::Session),
        "a" | "always" if may_always => Some(ApprovalAnswer::Always),
        "" | "d" | "deny" | "n" | "no" => Some(ApprovalAnswer::Deny),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ApprovalAnswer::{Always, Deny, Once, Session};

    use super::*;

    #[test]
    fn only_a_clear_yes_is_consent() {
        let answers = ["o", "Yes", " session ", "a", "", "n", "what?"].map(|line| consent(line, true));
        assert_eq!(
            answers,
            [
                Some(Once),
                Some(Once),
                Some(Session),
                Some(Always),
                Some(Deny),
                Some(Deny),
                None
            ]
        );
        assert_eq!(
            consent("always", false),
            None,
            "what cannot be kept cannot be asked for"
        );
    }

    #[test]
    fn a_choice_is_named_by_its_number_or_in_other_words() {
        let pending = Pending::Question(Question {
            id: "q1".to_owned(),
            text: "Which?".to_owned(),
            choices: vec!["red".to_owned(), "blue".to_owned()],
        });
        let reply = |line| match pending.answer(line) {
            Some(Op::Reply { text, .. }) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(reply("2").as_deref(), Some("blue"));
        assert_eq!(reply("green").as_deref(), Some("green"));
        assert_eq!(reply("7").as_deref(), Some("7"));
        assert_eq!(reply(" "), None);
    }
}
