// Decomposition (NFD) is not public in the standard library, and Foundation would cost start-up
// time; the symbol is the one that Foundation itself uses.
@_spi(_Unicode) import Swift

/// Divides text into the terms that a full-text index contains and that a search looks up.
///
/// A term is a run of letters, digits and `_`, in lower case and without diacritics: `Čeština` is `cestina`. An
/// apostrophe between letters is removed (`don't` is `dont`), and a point or comma between digits is kept (`3.14`); all
/// other characters separate terms. Scripts that are written without spaces (Chinese, Japanese, Thai, Lao, Khmer,
/// Burmese) have one term for each character. A term is truncated to ``longest`` bytes.
package enum TextTerms {
    /// The maximum length of a term in bytes.
    package static let longest = 96

    /// Calls `body` with the folded UTF-8 bytes of every term in order until it returns false.
    ///
    /// Invalid UTF-8 bytes separate terms. Takes linear time; ASCII is fastest.
    package static func forEach(in text: Span<UInt8>, _ body: (Span<UInt8>) -> Bool) {
        var builder = TermBuilder()
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte >= 0x80 { return forEachInUnicode(text, from: index, &builder, body) }
            let form = TermCharacter.ascii[Int(byte)]
            index &+= 1
            switch form {
            case TermCharacter.letter.rawValue, TermCharacter.digit.rawValue:
                if !builder.makeSpace(for: form, body) { return }
                builder.append(byte &- 0x41 < 26 ? byte | 0x20 : byte)
            case TermCharacter.separator.rawValue:
                if !builder.isEmpty, !builder.finish(body) { return }
            default:
                if !builder.hold(form, byte, body) { return }
            }
        }
        _ = builder.finish(body)
    }

    /// Calls `body` with the terms of a text with other characters than ASCII, the first of them at `start`.
    private static func forEachInUnicode(
        _ text: Span<UInt8>, from start: Int, _ builder: inout TermBuilder,
        _ body: (Span<UInt8>) -> Bool
    ) {
        // A mark may belong to the letter before the first byte that is not ASCII. Marks are dropped or appended, so
        // the builder can continue from its current position.
        var rest: [UInt8] = []
        rest.reserveCapacity(text.count - start)
        var index = start
        while index < text.count {
            rest.append(text[index])
            index &+= 1
        }
        for scalar in String(decoding: rest, as: UTF8.self)._nfd {
            let form = TermCharacter.of(scalar)
            switch form {
            case .mark: continue
            case .extending:
                builder.append(scalar)
            case .letter, .digit:
                if !builder.makeSpace(for: form.rawValue, body) { return }
                TermCharacter.fold(scalar) { builder.append($0) }
            case .single:
                if !builder.finish(body) { return }
                builder.append(scalar)
                builder.isSingle = true
            case .apostrophe, .point:
                let byte = scalar == "," ? UInt8(ascii: ",") : UInt8(ascii: ".")
                if !builder.hold(form.rawValue, byte, body) { return }
            case .separator:
                if !builder.finish(body) { return }
            }
        }
        _ = builder.finish(body)
    }

    /// Returns all terms of a text in order, including repeated ones.
    ///
    /// Stops after `most` terms.
    package static func all(in text: Span<UInt8>, atMost most: Int = .max) -> [[UInt8]] {
        var terms: [[UInt8]] = []
        forEach(in: text) { term in
            var copy: [UInt8] = []
            copy.reserveCapacity(term.count)
            for index in term.indices { copy.append(term[index]) }
            terms.append(copy)
            return terms.count < most
        }
        return terms
    }
}

/// The term that is being built.
private struct TermBuilder {
    private var bytes: [UInt8] = []
    /// The kind of the term's last character.
    private var last: UInt8 = 0
    /// An apostrophe, point or comma that is a part of the term only if a suitable character follows.
    private var held: UInt8 = 0
    private var heldByte: UInt8 = 0
    /// Whether the term is one character of a script without spaces, which only marks can extend.
    var isSingle = false

    var isEmpty: Bool { bytes.isEmpty }

    /// Prepares for a letter or digit: ends a term that the character cannot extend.
    @inline(__always)
    mutating func makeSpace(for form: UInt8, _ body: (Span<UInt8>) -> Bool) -> Bool {
        if held != 0 || isSingle { return resolve(form, body) }
        last = form
        return true
    }

    private mutating func resolve(_ form: UInt8, _ body: (Span<UInt8>) -> Bool) -> Bool {
        let joins =
            !isSingle && form == last
            && (held == TermCharacter.apostrophe.rawValue)
                == (form == TermCharacter.letter.rawValue)
        if joins {
            if held == TermCharacter.point.rawValue { append(heldByte) }
            held = 0
        } else if !finish(body) {
            return false
        }
        last = form
        return true
    }

    /// Keeps a character that joins two parts of a term, if a term has begun.
    mutating func hold(_ form: UInt8, _ byte: UInt8, _ body: (Span<UInt8>) -> Bool) -> Bool {
        if bytes.isEmpty || held != 0 || isSingle { return finish(body) }
        held = form
        heldByte = byte
        return true
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        if bytes.count < TextTerms.longest { bytes.append(byte) }
    }

    mutating func append(_ scalar: Unicode.Scalar) {
        let encoded = Unicode.UTF8.encode(scalar)
        if let encoded, bytes.count + encoded.count <= TextTerms.longest {
            bytes.append(contentsOf: encoded)
        }
    }

    /// Passes the term to `body`, if there is one, and returns the result of `body`.
    mutating func finish(_ body: (Span<UInt8>) -> Bool) -> Bool {
        held = 0
        isSingle = false
        if bytes.isEmpty { return true }
        let mayContinue = body(bytes.span)
        bytes.removeAll(keepingCapacity: true)
        return mayContinue
    }
}
