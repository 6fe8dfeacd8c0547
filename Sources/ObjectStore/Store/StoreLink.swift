/// A reference to a store that does not keep it alive.
///
/// A weak reference to the store itself would make all others slower to count, and reads count some.
final class StoreLink {
    /// The store; nil before it is made and from the moment on that it goes.
    unowned var store: Store?
}
