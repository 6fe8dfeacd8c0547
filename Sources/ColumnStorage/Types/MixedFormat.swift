/// The bytes of a mixed value: a flat sequence of tokens, so that it can be read without recursion.
///
/// Each token is its tag and the data of the tag; numbers are little-endian.
///
///     empty, true, false     no data
///     int, date              8 bytes
///     float                  4 bytes
///     double                 8 bytes
///     decimal, uuid          16 bytes
///     objectID               12 bytes
///     fixed12, fixed16       u8 number of the type, 12 or 16 bytes: a value of another type of a fixed size
///     string, data, key      u32 length, the bytes
///     link                   u32 table, i64 key of the row
///     cutLink                as for link: the row was deleted, and the value reads as nil
///     list                   u32 length of all following data of the list, u32 number of elements, the elements
///     map                    u32 length of all following data of the map, u32 number of entries; each is a key and a
///                            value
///
/// The keys of a map ascend in byte order.
package enum MixedTag: UInt8, Sendable {
    case empty = 0
    case no, yes, int, date, float, double, decimal, uuid, objectID, string, data, key, link,
        cutLink
    case list, map
    case fixed12, fixed16
}

/// The links in the bytes of mixed values.
struct MixedLinks {
    /// One link: the offset of its tag, and its target.
    struct Link {
        let offset: Int
        let code: Int64
    }

    private static let keyBits: Int64 = 47

    /// Returns the number of a row in the index of links in mixed values.
    static func code(_ table: TableID, _ key: ObjectKey) -> Int64 {
        Int64(table.rawValue) << keyBits | key.rawValue & (1 << keyBits - 1)
    }

    /// Returns the row of a code; nil if it belongs to another table.
    static func key(of code: Int64, in table: TableID) -> ObjectKey? {
        code >> keyBits == Int64(table.rawValue) ? ObjectKey(code & (1 << keyBits - 1)) : nil
    }

    /// Returns all links, in their order; stops at damaged bytes.
    static func all(in bytes: UnsafeRawBufferPointer) -> [Link] {
        var links: [Link] = []
        var position = 0
        while position < bytes.count, let tag = MixedTag(rawValue: bytes[position]) {
            let start = position
            position += 1
            let size: Int
            switch tag {
            case .empty, .no, .yes: size = 0
            case .float: size = 4
            case .int, .date, .double: size = 8
            case .list, .map: size = 8
            case .objectID, .link, .cutLink: size = 12
            case .fixed12: size = 13
            case .decimal, .uuid: size = 16
            case .fixed16: size = 17
            case .string, .data, .key:
                guard bytes.count - position >= 4 else { return links }
                size = 4 + Int(bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
            }
            guard bytes.count - position >= size else { return links }
            if tag == .link {
                let table = bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)
                let key = bytes.loadUnaligned(fromByteOffset: position + 4, as: Int64.self)
                links.append(Link(offset: start, code: code(TableID(table), ObjectKey(key))))
            }
            position += size
        }
        return links
    }

    /// Returns the codes of all links.
    static func codes(in bytes: UnsafeRawBufferPointer) -> [Int64] {
        guard let first = bytes.first, first >= MixedTag.link.rawValue else { return [] }
        return all(in: bytes).map(\.code)
    }

    /// Returns the bytes with every link to a row cut; nil if the whole value is the link.
    static func cutting(_ code: Int64, in bytes: [UInt8]) -> [UInt8]? {
        var result = bytes
        for link in bytes.withUnsafeBytes({ all(in: $0) }) where link.code == code {
            if link.offset == 0 { return nil }
            result[link.offset] = MixedTag.cutLink.rawValue
        }
        return result
    }
}
