/// Carries a value across a boundary that the compiler cannot check.
///
/// The creator guarantees that one isolation domain at a time uses the value.
package struct Unchecked<Value>: @unchecked Sendable {
    /// The value.
    package let value: Value

    /// Wraps a value.
    package init(_ value: Value) { self.value = value }
}
