//! The targets that are configured.

use ledger::plan::Layer;

use crate::target::{AnyTarget, Target};

/// All configured targets. A layer without one is skipped.
#[derive(Debug, Clone, Default)]
pub struct Targets {
    all: Vec<AnyTarget>,
}

impl Targets {
    /// These targets and no others.
    pub fn new(all: Vec<AnyTarget>) -> Self {
        Self { all }
    }

    /// The targets of one layer.
    pub fn in_layer(&self, layer: Layer) -> impl Iterator<Item = &AnyTarget> {
        self.all.iter().filter(move |target| target.layer() == layer)
    }

    /// The layers that have a target, innermost first: those that a plan owes keys to.
    pub fn layers(&self) -> Vec<Layer> {
        Layer::ALL
            .into_iter()
            .filter(|layer| self.in_layer(*layer).next().is_some())
            .collect()
    }

    /// Says once, at the start of a process, what is configured and what is not.
    pub fn announce(&self) {
        for layer in Layer::ALL {
            let names: Vec<&str> = self.in_layer(layer).map(Target::name).collect();
            match names.as_slice() {
                [] => tracing::info!(?layer, "no target is configured for this layer; it is skipped"),
                names => tracing::info!(?layer, targets = names.join(","), "targets configured"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ledger::plan::Key;
    use platform::Deadline;

    use super::*;
    use crate::PurgeReport;

    struct Stub(Layer, &'static str);

    impl Target for Stub {
        fn layer(&self) -> Layer {
            self.0
        }
        fn name(&self) -> &str {
            self.1
        }
        async fn purge(&self, keys: &[Key], _: Deadline) -> PurgeReport {
            PurgeReport::failed(keys, "stub")
        }
    }

    #[test]
    fn several_targets_share_a_layer_and_layers_come_innermost_first() {
        let targets = Targets::new(vec![
            AnyTarget::new(Stub(Layer::Storefront, "shop")),
            AnyTarget::new(Stub(Layer::GraphqlCdn, "stellate")),
            AnyTarget::new(Stub(Layer::Storefront, "blog")),
        ]);
        assert_eq!(targets.layers(), [Layer::GraphqlCdn, Layer::Storefront]);
        let names: Vec<&str> = targets.in_layer(Layer::Storefront).map(Target::name).collect();
        assert_eq!(names, ["shop", "blog"]);
        assert!(Targets::default().layers().is_empty());
    }
}
