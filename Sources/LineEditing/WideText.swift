#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Decodes text of libedit, which has one code point per element.
func decodeWide(_ start: UnsafePointer<wchar_t>, _ count: Int) -> String {
    var text = ""
    for element in UnsafeBufferPointer(start: start, count: max(count, 0)) {
        let value = UInt32(truncatingIfNeeded: element)
        text.unicodeScalars.append(Unicode.Scalar(value) ?? "\u{FFFD}")
    }
    return text
}

/// Passes text to libedit as a zero-terminated array.
func withWide<Result>(_ text: String, _ body: (UnsafePointer<wchar_t>) -> Result) -> Result {
    let elements = text.unicodeScalars.map { wchar_t($0.value) } + [0]
    // The array is not empty, so it has a base address during this call.
    return elements.withUnsafeBufferPointer { body($0.baseAddress!) }
}

/// Returns a variable of the environment.
func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
