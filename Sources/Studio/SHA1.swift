/// The hash function of the WebSocket handshake (RFC 3174); it protects nothing there.
enum SHA1 {
    static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        var message = bytes + [0x80]
        while message.count % 64 != 56 { message.append(0) }
        message += (0..<8).reversed().map {
            UInt8(truncatingIfNeeded: (bytes.count * 8) >> ($0 * 8))
        }
        for start in stride(from: 0, to: message.count, by: 64) {
            var words = (0..<16).map { index in
                message[start + index * 4..<start + index * 4 + 4].reduce(0) {
                    $0 << 8 | UInt32($1)
                }
            }
            for index in 16..<80 {
                let word =
                    words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]
                words.append(rotate(word, 1))
            }
            var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
            for (index, word) in words.enumerated() {
                let (mixed, constant): (UInt32, UInt32) =
                    switch index / 20 {
                    case 0: (b & c | ~b & d, 0x5A82_7999)
                    case 1: (b ^ c ^ d, 0x6ED9_EBA1)
                    case 2: (b & c | b & d | c & d, 0x8F1B_BCDC)
                    default: (b ^ c ^ d, 0xCA62_C1D6)
                    }
                let next = rotate(a, 5) &+ mixed &+ e &+ constant &+ word
                (a, b, c, d, e) = (next, a, rotate(b, 30), c, d)
            }
            for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
        }
        return state.flatMap { word in
            stride(from: 24, through: 0, by: -8).map {
                UInt8(truncatingIfNeeded: word >> UInt32($0))
            }
        }
    }

    private static func rotate(_ word: UInt32, _ bits: UInt32) -> UInt32 {
        word << bits | word >> (32 - bits)
    }
}
