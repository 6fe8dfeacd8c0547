/// A wrapper that passes a value across an isolation boundary that the compiler cannot check.
///
/// The creator guarantees that only one isolation domain at a time uses the value.
package struct Unchecked<Value>: @unchecked Sendable {
    /// The value.
    package let value: Value

    /// Wraps a value.
    package init(_ value: Value) { self.value = value }
}
