/// A reference to a store that does not keep it alive.
///
/// A weak reference to the store itself would slow down the counting of all references to it, and so every read.
final class StoreLink {
    /// The store; nil before it is created, and from the beginning of its deinitialization.
    unowned var store: Store?
}
