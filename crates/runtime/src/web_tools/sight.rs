//! The person's pictures, for a model that does not see: another one describes them.
//!
//! The description goes with the message as recalled memory does, framed: what is written in a picture is
//! nobody's order. Without such a model everything stays as it was: the picture is sent, and a server that
//! refuses it gets a note in its place.

use futures_util::future::join_all;
use talaria_types::{ImagePart, Rewrite, Task};
use tokio_util::sync::CancellationToken;

use super::{sees, vision};
use crate::prepare::Prepared;
use crate::sent_as;
use crate::session::Session;
use crate::side_calls::SideModel;

impl Session {
    /// Has the prompt's pictures described where the model cannot look at them itself.
    pub(crate) async fn describe_pictures(&self, prepared: &mut Prepared, cancel: &CancellationToken) {
        let pictures: Vec<ImagePart> = prepared.prompt.content.images().cloned().collect();
        if pictures.is_empty() || !self.is_blind() {
            return;
        }
        let Some(model) = self.shared.auxiliary(Task::Vision) else {
            return;
        };
        let eyes = SideModel {
            task: Task::Vision,
            model,
            patience: self.shared.auxiliary_timeout(Task::Vision),
            costs: self.shared.side_costs.clone(),
        };
        self.sink
            .status(format!("{} looks at what the model cannot see", eyes.name()));
        let asked = prepared.prompt.content.text().into_owned();
        let look = |(number, picture): (usize, ImagePart)| {
            let source = format!("picture {} of the message", number + 1);
            let (eyes, asked) = (&eyes, &asked);
            async move {
                let place = (source.as_str(), self.id.as_str());
                match vision::description(eyes, picture, asked, place, cancel).await {
                    Ok(text) => text,
                    Err(why) => {
                        self.sink.warn(format!("{source} could not be described: {why}"));
                        format!("[The {source} could not be described: {why}]")
                    }
                }
            }
        };
        let told = join_all(pictures.into_iter().enumerate().map(look)).await;
        sent_as::add(&mut prepared.prompt, &told);
        // The note that stands for each picture is true, and a refusal is spared.
        let rewrites = &mut prepared.setup.rewrites;
        if !rewrites.contains(&Rewrite::DropImages) {
            rewrites.push(Rewrite::DropImages);
        }
    }

    fn is_blind(&self) -> bool {
        match self.config().agent.image_input_mode.as_str() {
            "native" => false,
            "text" => true,
            _ => sees(self.models.current()) == Some(false),
        }
    }
}
