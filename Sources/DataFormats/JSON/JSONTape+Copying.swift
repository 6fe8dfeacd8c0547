extension JSONTape {
    /// Appends a node of another tape.
    package func append(_ other: JSONTape, _ index: Int) {
        let source = other.buffer.pointee
        let shift = Int64(count - index)
        for position in index..<other.after(index) {
            let token = source[position]
            switch token.kind {
            case .string, .real:
                buffer.pointee.add(token.kind, source.text(of: token), offset: Int(token.offset))
            case .array, .object:
                buffer.pointee.add(
                    token.kind, token.payload + shift, offset: Int(token.offset))
            default:
                buffer.pointee.add(token.kind, token.payload, offset: Int(token.offset))
            }
        }
    }

    /// Appends the name of a member.
    package func append(name: String) {
        var name = name
        name.withUTF8 { buffer.pointee.add(.string, $0) }
    }

    /// Replaces the content of the tape with an object whose members the body appends, each as a name and a value.
    package func becomeObject(_ body: () -> Void) {
        clear()
        add(.object)
        body()
        close(0)
    }
}
