// Decomposition (NFD) is not public in the standard library, and Foundation would cost start-up
// time; the symbol is the one that Foundation itself uses.
@_spi(_Unicode) import Swift

/// Cuts text into the terms that a full-text index holds and that a search looks up.
///
/// A term is a run of letters, digits and `_`, in lower case and without diacritics: `Čeština` is
/// `cestina`. An apostrophe between letters is left out (`don't` is `dont`), a point or comma
/// between digits stays (`3.14`); everything else separates. Scripts that are written without spaces
/// (Chinese, Japanese, Thai, Lao, Khmer, Burmese) give one term per character. A term longer than
/// ``longest`` bytes is cut off there.
package enum TextTerms {
    /// The most bytes that a term has.
    package static let longest = 96

    /// Calls `body` with the folded UTF-8 bytes of every term in order until it returns false.
    ///
    /// Bytes that are no UTF-8 separate. Linear in the text; ASCII is fastest.
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

    /// The same for text that is not ASCII: `start` is the offset of the first other byte.
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

    /// All terms of a text in order, repeated ones too.
    package static func all(in text: Span<UInt8>) -> [[UInt8]] {
        var terms: [[UInt8]] = []
        forEach(in: text) { term in
            var copy: [UInt8] = []
            copy.reserveCapacity(term.count)
            for index in term.indices { copy.append(term[index]) }
            terms.append(copy)
            return true
        }
        return terms
    }
}

/// The term that is being read.
private struct TermBuilder {
    private var bytes: [UInt8] = []
    /// The kind of the term's last character.
    private var last: UInt8 = 0
    /// An apostrophe, point or comma that belongs to the term only if the right thing follows.
    private var held: UInt8 = 0
    private var heldByte: UInt8 = 0
    /// Whether the term is one character of a script without spaces, and takes nothing but marks.
    var isSingle = false

    var isEmpty: Bool { bytes.isEmpty }

    /// Prepares for a letter or digit: ends a term that it does not belong to.
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

    /// Keeps a character that joins two halves of a term, if there is a term.
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

    /// Gives the term to `body`, if there is one; false when it wants no more.
    mutating func finish(_ body: (Span<UInt8>) -> Bool) -> Bool {
        held = 0
        isSingle = false
        if bytes.isEmpty { return true }
        let goesOn = body(bytes.span)
        bytes.removeAll(keepingCapacity: true)
        return goesOn
    }
}
