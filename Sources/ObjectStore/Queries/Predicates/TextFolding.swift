import ColumnStorage
// Decomposition (NFD) is not public in the standard library, and loading Foundation would slow down the start.
// Foundation uses the same symbol.
@_spi(_Unicode) import Swift

/// Folds strings so that differences that a predicate ignores disappear: `[c]` case, `[d]` diacritics.
///
/// `[c]` is full case folding (``ColumnStorage/CaseFolding``). `[d]` decomposes the text (NFD) and removes the
/// nonspacing marks: "é", one character or two, is "e", and "İ" is "I". Letters without a decomposition remain: "ø",
/// "ł", "ß".
struct TextFolding: Hashable, Sendable {
    let ignoresCase: Bool
    let ignoresDiacritics: Bool

    var isNeeded: Bool { ignoresCase || ignoresDiacritics }

    /// Returns the folded text as scalars.
    func scalars(_ bytes: Span<UInt8>) -> [Unicode.Scalar] {
        var scalars: [Unicode.Scalar] = []
        scalars.reserveCapacity(bytes.count)
        forEachCharacter(of: bytes) { append($0, to: &scalars) }
        return scalars
    }

    /// Returns the folded text as scalars, and for each scalar whether it begins a character of the text.
    ///
    /// A character may fold to several scalars, as "ß" to "ss", but still counts as one character for the `?` of
    /// `like`.
    func characters(_ bytes: Span<UInt8>) -> (scalars: [Unicode.Scalar], starts: [Bool]) {
        var scalars: [Unicode.Scalar] = []
        var starts: [Bool] = []
        forEachCharacter(of: bytes) { scalar in
            append(scalar, to: &scalars)
            starts.append(true)
            while starts.count < scalars.count { starts.append(false) }
        }
        return (scalars, starts)
    }

    /// Calls `body` with each scalar of a text that is not ignored.
    private func forEachCharacter(of bytes: Span<UInt8>, _ body: (Unicode.Scalar) -> Void) {
        var isASCII = true
        var index = 0
        while index < bytes.count {
            if bytes[index] >= 0x80 { isASCII = false }
            index += 1
        }
        if isASCII {
            index = 0
            while index < bytes.count {
                body(Unicode.Scalar(bytes[index]))
                index += 1
            }
            return
        }
        let text = String(decoding: [UInt8](copying: bytes), as: UTF8.self)
        guard ignoresDiacritics else { return text.unicodeScalars.forEach(body) }
        for scalar in text._nfd where scalar.properties.generalCategory != .nonspacingMark {
            body(scalar)
        }
    }

    @inline(__always)
    private func append(_ scalar: Unicode.Scalar, to scalars: inout [Unicode.Scalar]) {
        if ignoresCase {
            CaseFolding.fold(scalar) { scalars.append($0) }
        } else {
            scalars.append(scalar)
        }
    }
}

extension [UInt8] {
    /// Creates an array with the bytes of a span.
    init(copying bytes: Span<UInt8>) {
        self.init()
        reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            append(bytes[index])
            index += 1
        }
    }
}
