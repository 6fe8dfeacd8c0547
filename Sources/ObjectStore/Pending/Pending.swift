import ColumnStorage

extension TableReader {
    func string(_ c: ColumnID, _ k: ObjectKey) -> String? { nil }
    func bytes(_ c: ColumnID, _ k: ObjectKey) -> [UInt8]? { nil }
    func list(_ c: ColumnID, _ k: ObjectKey) -> ListReader { ListReader() }
    func sources(of: ObjectKey, through: ColumnID) -> [ObjectKey] { [] }
    func find(_ c: ColumnID, int: Int64) -> ObjectKey? { nil }
    func find(_ c: ColumnID, bytes: [UInt8]) -> ObjectKey? { nil }
    func keys(_ c: ColumnID, equalTo: Int64) -> [ObjectKey] { [] }
    func keys(_ c: ColumnID, equalTo: [UInt8]) -> [ObjectKey] { [] }
    func keys(_ c: ColumnID, from: Int64?, through: Int64?) -> [ObjectKey] { [] }
}
struct ListReader {
    var count: Int { 0 }
    func bool(at: Int) -> Bool? { nil }
    func int(at: Int) -> Int64? { nil }
    func float(at: Int) -> Float? { nil }
    func double(at: Int) -> Double? { nil }
    func string(at: Int) -> String? { nil }
    func bytes(at: Int) -> [UInt8]? { nil }
    func link(at: Int) -> ObjectKey? { nil }
}
struct ListWriter {
    var count: Int { 0 }
    func insertNull(at: Int) {}
    func insert(bool: Bool, at: Int) {}
    func insert(int: Int64, at: Int) {}
    func insert(float: Float, at: Int) {}
    func insert(double: Double, at: Int) {}
    func insert(bytes: [UInt8], at: Int) {}
    func insert(link: ObjectKey, at: Int) {}
    func insert(string: String, at: Int) {}
    func set(string: String, at: Int) {}
    func setNull(at: Int) {}
    func set(bool: Bool, at: Int) {}
    func set(int: Int64, at: Int) {}
    func set(float: Float, at: Int) {}
    func set(double: Double, at: Int) {}
    func set(bytes: [UInt8], at: Int) {}
    func set(link: ObjectKey, at: Int) {}
    func remove(at: Int) {}
    func move(from: Int, to: Int) {}
    func swap(_ a: Int, _ b: Int) {}
    func removeAll() {}
}
extension WriteSession {
    func list(_ t: TableID, _ c: ColumnID, _ k: ObjectKey) -> ListWriter { ListWriter() }
}
