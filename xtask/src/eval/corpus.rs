//! Seeded sessions with planted facts: talk, or a job in code, in rounds of what a person, a model and tools say.

use super::phrases::{CHINESE, Class, ENGLISH, PEOPLE, Speaker, Template, Words};
use serde_json::json;
use talaria_types::{Message, ToolCall};

/// Tokens of text, on average, for one planted fact.
const TOKENS_PER_FACT: u64 = 1_500;
/// Per cent of the facts that are said by the person, the model and tools.
const SHARES: [u64; 3] = [40, 30, 30];

/// What a session is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    English,
    Chinese,
    Code,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::English, Self::Chinese, Self::Code];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Chinese => "Chinese",
            Self::Code => "code",
        }
    }

    fn words(self) -> &'static Words {
        match self {
            Self::English | Self::Code => &ENGLISH,
            Self::Chinese => &CHINESE,
        }
    }
}

/// A fact that was planted.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    /// Verbatim.
    pub(crate) value: String,
    /// The words of a question that it answers, without it.
    pub(crate) question: String,
}

/// A session that never ends.
pub(crate) struct Corpus {
    kind: Kind,
    chance: Chance,
    step: u64,
    planted: u64,
    /// Tokens said since each speaker planted a fact.
    owed: [u64; 3],
}

impl Corpus {
    pub(crate) fn new(kind: Kind, seed: u64) -> Self {
        Self {
            kind,
            chance: Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ kind as u64),
            step: 0,
            planted: 0,
            owed: [TOKENS_PER_FACT; 3],
        }
    }

    /// The next round, and the facts in it.
    pub(crate) fn next(&mut self) -> (Vec<Message>, Vec<Fact>) {
        self.step += 1;
        let (every, lines) = match self.kind {
            Kind::Code => (9, 3),
            Kind::English | Kind::Chinese => (2, 9),
        };
        let mut facts = Vec::new();
        let mut messages = Vec::new();
        if self.step % every == 1 {
            let mut text = self.sentence(self.kind.words().asks);
            text.push_str(self.kind.words().gap);
            text.push_str(&self.talk(1 + lines / 3));
            let said = self.plant(Speaker::User, &mut facts);
            messages.push(Message::user(text + self.kind.words().gap + &said));
        }
        let talk = self.talk(lines);
        let said = self.plant(Speaker::Assistant, &mut facts);
        let answer = format!("{talk}{}{said}", self.kind.words().gap);
        if self.kind == Kind::Code || self.step.is_multiple_of(3) {
            let (call, result) = self.tool(&mut facts);
            messages.push(Message {
                tool_calls: vec![call],
                ..Message::assistant(answer)
            });
            messages.push(result);
        } else {
            messages.push(Message::assistant(answer));
        }
        let size: u64 = messages
            .iter()
            .map(talaria_context::tokens::Counter::quick_message)
            .sum();
        for (owed, share) in self.owed.iter_mut().zip(SHARES) {
            *owed += size * share / 100;
        }
        (messages, facts)
    }

    /// The sentences of facts that are due from this speaker.
    fn plant(&mut self, speaker: Speaker, facts: &mut Vec<Fact>) -> String {
        let mut said = Vec::new();
        let templates = self.kind.words().facts.iter();
        let of: Vec<&Template> = templates.filter(|template| template.speaker == speaker).collect();
        while self.owed[speaker as usize] >= TOKENS_PER_FACT {
            self.owed[speaker as usize] -= TOKENS_PER_FACT;
            let template = of[self.chance.below(of.len() as u64) as usize];
            let name = self.name();
            let value = self.value(template.class, &name);
            said.push(template.says.replace("{s}", &name).replace("{v}", &value));
            facts.push(Fact {
                value,
                question: template.asks.replace("{s}", &name),
            });
        }
        said.join(self.kind.words().gap)
    }

    /// A name that no other fact has.
    fn name(&mut self) -> String {
        let words = self.kind.words();
        let at = self.planted as usize * 7;
        self.planted += 1;
        let first = words.first[(at + at / words.second.len()) % words.first.len()];
        let second = words.second[at % words.second.len()];
        // After all pairs a number tells them apart.
        let round = self.planted as usize / (words.first.len() * words.second.len() / 7);
        let number = if round == 0 {
            String::new()
        } else {
            format!("{}", round + 1)
        };
        format!("{first}{}{second}{number}", words.gap)
    }

    fn value(&mut self, class: Class, name: &str) -> String {
        let chance = &mut self.chance;
        let number = chance.below(90_000) + 10_000;
        let word = ENGLISH.first[chance.below(ENGLISH.first.len() as u64) as usize];
        match class {
            Class::Path => format!("/srv/{word}/conf-{number}.toml"),
            Class::Port => format!("{}", 10_000 + number % 50_000),
            Class::Duration => format!("{}.{} ms", number / 10, number % 10),
            Class::Ticket => format!("{}-{number}", word.to_uppercase()),
            Class::Hash => format!("{:07x}a{:02x}", chance.below(1 << 28), number % 256),
            Class::Url => format!("https://{word}.example.org/d/{number}"),
            Class::Demand if self.kind == Kind::Chinese => {
                format!("没有问过{number}号值班人员，不要重启{name}")
            }
            Class::Demand => format!("Never restart the {name} without asking desk {number} first"),
            Class::Error => format!("E_{}_{number}", word.to_uppercase()),
            Class::Person => {
                let pick = |names: &[&'static str], at: u64| names[at as usize % names.len()];
                format!(
                    "{} {}-{number}",
                    pick(PEOPLE[0], number),
                    pick(PEOPLE[1], number / 13)
                )
            }
            Class::Date => format!(
                "20{:02}-{:02}-{:02}",
                27 + number % 60,
                1 + number % 12,
                1 + number % 28
            ),
            Class::Setting => format!("{}_LIMIT={number}", word.to_uppercase()),
        }
    }

    fn talk(&mut self, sentences: u64) -> String {
        let count = sentences + self.chance.below(sentences + 1);
        let said: Vec<String> = (0..count)
            .map(|_| self.sentence(self.kind.words().filler))
            .collect();
        said.join(self.kind.words().gap)
    }

    /// A sentence about nothing. The things it names are those of facts, so that searches have company.
    fn sentence(&mut self, of: &[&str]) -> String {
        let words = self.kind.words();
        let sentence = of[self.chance.below(of.len() as u64) as usize];
        let first = words.first[self.chance.below(words.first.len() as u64) as usize];
        let second = words.second[self.chance.below(words.second.len() as u64) as usize];
        let number = self.chance.below(400) + 2;
        sentence
            .replace("{s}", &format!("{first}{}{second}", words.gap))
            .replace("{n}", &number.to_string())
    }

    /// A call and its result, full of values that nobody planted.
    fn tool(&mut self, facts: &mut Vec<Fact>) -> (ToolCall, Message) {
        let said = self.plant(Speaker::Tool, facts);
        let id = format!("call_{}", self.step);
        let (module, part) = (self.chance.below(40), self.chance.below(90));
        let path = format!("src/module_{module}/part_{part}.rs");
        let (tool, arguments, result) = match self.chance.below(3) {
            0 => (
                "terminal",
                json!({"command": format!("cargo test -p part_{part}")}),
                json!({"output": format!("{}{said}\ntest result: ok. {module} passed", self.log(part)), "exit_code": 0})
                    .to_string(),
            ),
            1 => (
                "search_files",
                json!({"pattern": format!("fn part_{part}")}),
                format!("{}{said}\n", self.matches(&path)),
            ),
            _ => (
                "read_file",
                json!({"path": path}),
                format!("{}{said}\n", self.code()),
            ),
        };
        let call = ToolCall {
            id: id.clone(),
            name: tool.to_owned(),
            arguments: arguments.to_string(),
            extra: serde_json::Map::new(),
        };
        (call, Message::tool(id, tool, result))
    }

    fn log(&mut self, part: u64) -> String {
        let lines = 12 + self.chance.below(16);
        (0..lines)
            .map(|line| {
                format!(
                    "test part_{part}::case_{line} ... ok ({} ms)\n",
                    self.chance.below(900)
                )
            })
            .collect()
    }

    fn matches(&mut self, path: &str) -> String {
        let lines = 10 + self.chance.below(14);
        (0..lines)
            .map(|_| {
                format!(
                    "{path}:{}: let part = table.get(&key)?;\n",
                    self.chance.below(700)
                )
            })
            .collect()
    }

    fn code(&mut self) -> String {
        let start = self.chance.below(300);
        let lines = 14 + self.chance.below(20);
        (start..start + lines)
            .map(|line| {
                let key = self.chance.below(90);
                format!("{line:6}|    let value_{line} = table.get(&key_{key}).copied().unwrap_or({key});\n")
            })
            .collect()
    }
}

/// Chance with a seed (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % end.max(1)
    }
}

/// The sentences of a text.
pub(crate) trait SplitSentences {
    fn sentences(&self) -> impl Iterator<Item = &str>;
}

impl SplitSentences for str {
    fn sentences(&self) -> impl Iterator<Item = &str> {
        self.split_inclusive(['。', '？', '！', '\n'])
            .flat_map(|part| part.split_inclusive(". "))
            .map(str::trim)
            .filter(|sentence| !sentence.is_empty())
    }
}

impl SplitSentences for String {
    fn sentences(&self) -> impl Iterator<Item = &str> {
        self.as_str().sentences()
    }
}
