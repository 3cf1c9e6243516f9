//! Names as types: no bare string crosses a module.

use std::fmt;
use std::sync::Arc;

/// Declares a name type. Cloning is cheap, since the same names sit in views, plans and events.
macro_rules! name {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(Arc<str>);

        impl $type {
            /// Takes the text as it is: the door that read it has checked it.
            pub fn new(text: impl AsRef<str>) -> Self {
                Self(Arc::from(text.as_ref()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}

name!(
    /// UID of a pod: `metadata.uid`, or for a file pod a hash over its content, node name and path.
    PodUid
);
name!(
    /// Name of a container inside its pod.
    ContainerName
);
name!(
    /// Identity that the runtime gave to a container.
    ContainerId
);
name!(
    /// Identity that the runtime gave to a pod sandbox.
    SandboxId
);
name!(
    /// Image as the manifest writes it, for instance `localhost/busybox:1`.
    ImageName
);
name!(
    /// Resource name as pods ask for it, for instance `nvidia.com/gpu`.
    ResourceName
);
name!(
    /// One device of a resource, as its owner names it; for GPUs the UUID.
    DeviceId
);
name!(
    /// Fully qualified CDI device name, `vendor/class=device`.
    CdiName
);

/// Namespace and name of a pod, shown as `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodName {
    /// Namespace, `default` when the manifest has none.
    pub namespace: Arc<str>,
    /// Name; for file pods with `-<node name>` appended.
    pub name: Arc<str>,
}

impl PodName {
    /// A name from its two parts.
    pub fn new(namespace: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        Self {
            namespace: Arc::from(namespace.as_ref()),
            name: Arc::from(name.as_ref()),
        }
    }
}

impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
