#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Text of libedit, which is one code point per element.
func decodeWide(_ start: UnsafePointer<wchar_t>, _ count: Int) -> String {
    var text = ""
    for element in UnsafeBufferPointer(start: start, count: max(count, 0)) {
        let value = UInt32(truncatingIfNeeded: element)
        text.unicodeScalars.append(Unicode.Scalar(value) ?? "\u{FFFD}")
    }
    return text
}

/// Lends text to libedit, ended by zero.
func withWide<Result>(_ text: String, _ body: (UnsafePointer<wchar_t>) -> Result) -> Result {
    let elements = text.unicodeScalars.map { wchar_t($0.value) } + [0]
    // Because: an array's storage has an address for the length of this call.
    return elements.withUnsafeBufferPointer { body($0.baseAddress!) }
}

/// A variable of the environment.
func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
