/// Returns the name of an enum's case in the source; nil for a value of another kind.
///
/// A description can hide the name: that of a coding key is its text in the encoded data.
package func caseName<Value>(of value: Value) -> String? {
    guard Mirror(reflecting: value).displayStyle == .enum else { return nil }
    return enumCaseName(value).map { String(cString: $0) }
}

// A function of Swift's runtime, which also serves `print`.
@_silgen_name("swift_EnumCaseName")
private func enumCaseName<Value>(_ value: Value) -> UnsafePointer<CChar>?
