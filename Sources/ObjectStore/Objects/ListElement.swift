import ColumnStorage

/// Puts single values into lists.
enum ListElement {
    static func append(_ value: Value, to list: ListWriter) {
        insert(value, at: list.count, in: list)
    }

    static func insert(_ value: Value, at index: Int, in list: ListWriter) {
        switch value {
        case .null, .list, .dictionary: list.insertNull(at: index)
        case .bool(let flag): list.insert(bool: flag, at: index)
        case .int(let number): list.insert(int: number, at: index)
        case .float(let number): list.insert(float: number, at: index)
        case .double(let number): list.insert(double: number, at: index)
        case .string(let text): list.insert(string: text, at: index)
        case .data(let bytes): list.insert(bytes: bytes, at: index)
        case .date(let moment): list.insert(int: moment.microseconds, at: index)
        case .uuid(let identifier): list.insert(bytes: identifier.bytes, at: index)
        case .objectID(let identifier): list.insert(bytes: identifier.bytes, at: index)
        case .object(let reference): list.insert(link: reference.key, at: index)
        }
    }

    static func set(_ value: Value, at index: Int, in list: ListWriter) {
        switch value {
        case .null, .list, .dictionary: list.setNull(at: index)
        case .bool(let flag): list.set(bool: flag, at: index)
        case .int(let number): list.set(int: number, at: index)
        case .float(let number): list.set(float: number, at: index)
        case .double(let number): list.set(double: number, at: index)
        case .string(let text): list.set(string: text, at: index)
        case .data(let bytes): list.set(bytes: bytes, at: index)
        case .date(let moment): list.set(int: moment.microseconds, at: index)
        case .uuid(let identifier): list.set(bytes: identifier.bytes, at: index)
        case .objectID(let identifier): list.set(bytes: identifier.bytes, at: index)
        case .object(let reference): list.set(link: reference.key, at: index)
        }
    }
}
