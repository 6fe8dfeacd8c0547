// Decomposition (NFD) is not public in the standard library, and Foundation would cost start-up
// time; the symbol is the one that Foundation itself uses.
@_spi(_Unicode) import Swift

/// Makes strings alike that differ in what a predicate ignores: `[c]` case, `[d]` diacritics.
struct TextFolding: Hashable, Sendable {
    let ignoresCase: Bool
    let ignoresDiacritics: Bool

    var isNeeded: Bool { ignoresCase || ignoresDiacritics }

    /// The folded text as scalars.
    func scalars(_ bytes: Span<UInt8>) -> [Unicode.Scalar] {
        var isASCII = true
        var index = 0
        while index < bytes.count {
            if bytes[index] >= 0x80 { isASCII = false }
            index += 1
        }
        var scalars: [Unicode.Scalar] = []
        scalars.reserveCapacity(bytes.count)
        if isASCII {
            index = 0
            while index < bytes.count {
                let byte = bytes[index]
                let isUpper = ignoresCase && byte >= 65 && byte <= 90
                scalars.append(Unicode.Scalar(isUpper ? byte | 32 : byte))
                index += 1
            }
            return scalars
        }
        let copy = [UInt8](copying: bytes)
        let text = String(decoding: copy, as: UTF8.self)
        if ignoresDiacritics {
            for scalar in text._nfd {
                if scalar.properties.generalCategory == .nonspacingMark { continue }
                append(scalar, to: &scalars)
            }
        } else {
            for scalar in text.unicodeScalars { append(scalar, to: &scalars) }
        }
        return scalars
    }

    private func append(_ scalar: Unicode.Scalar, to scalars: inout [Unicode.Scalar]) {
        if ignoresCase {
            scalars.append(contentsOf: scalar.properties.lowercaseMapping.unicodeScalars)
        } else {
            scalars.append(scalar)
        }
    }
}

extension [UInt8] {
    /// The bytes of a span.
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
