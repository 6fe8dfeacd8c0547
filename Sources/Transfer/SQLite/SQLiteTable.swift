import DataFormats

/// The description of a table in its database.
struct SQLiteTable {
    struct Column {
        let name: String
        /// The declared type, which can be any text or empty.
        let type: String
        let isRequired: Bool
        /// The position in the primary key, starting at 1; 0 for columns that are not part of it.
        let keyPosition: Int
        /// Whether an index covers only this column.
        var isIndexed = false
    }

    struct ForeignKey {
        let table: String
        let column: String
        /// The referenced column; nil for the primary key of the other table.
        let target: String?
    }

    let name: String
    var columns: [Column] = []
    /// The foreign keys with a single column.
    var foreignKeys: [ForeignKey] = []
    /// The number of foreign keys with several columns.
    var compositeForeignKeys = 0
    /// The columns of each UNIQUE constraint and unique index, as text.
    var uniqueColumns: [String] = []
    let hasRowID: Bool

    /// The name of the rowid; nil if columns have all of its names.
    var rowID: String? {
        let taken = Set(columns.map { $0.name.lowercased() })
        return hasRowID ? ["_rowid_", "rowid", "oid"].first { !taken.contains($0) } : nil
    }

    /// The columns with the types of mixed values, by the column of the values.
    var typeColumns: [String: String] {
        let types = columns.filter { $0.type == SQLiteLayout.typeColumnType }
        guard !types.isEmpty else { return [:] }
        return Dictionary(
            zip(columns.filter(\.type.isEmpty), types).map { ($0.name, $1.name) },
            uniquingKeysWith: { first, _ in first })
    }

    var keyColumns: [Column] { columns.filter { $0.keyPosition > 0 } }

    /// Returns the tables of a database, and the names of views and virtual tables, which do not store data.
    static func all(
        in database: SQLiteDatabase
    ) throws -> (tables: [SQLiteTable], ignored: [String]) {
        let list = try database.prepare(
            """
            SELECT name, type, wr FROM pragma_table_list
            WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
            """)
        var tables: [SQLiteTable] = []
        var ignored: [String] = []
        while try list.step() {
            guard let name = list.text(0) else { continue }
            switch list.text(1) {
            case "table": tables.append(SQLiteTable(name: name, hasRowID: list.int(2) == 0))
            case "view": ignored.append("the view '\(name)'")
            case "virtual": ignored.append("the virtual table '\(name)'")
            default: break
            }
        }
        for index in tables.indices {
            try tables[index].readColumns(database)
            try tables[index].readForeignKeys(database)
        }
        return (tables, ignored)
    }

    private mutating func readColumns(_ database: SQLiteDatabase) throws {
        // Generated columns have values like other columns; other hidden columns have none.
        let list = try database.prepare(
            "SELECT name, type, \"notnull\", pk FROM pragma_table_xinfo(?) WHERE hidden <> 1")
        list.bind(0, name)
        while try list.step() {
            columns.append(
                Column(
                    name: list.text(0) ?? "", type: list.text(1) ?? "",
                    isRequired: list.int(2) != 0, keyPosition: Int(list.int(3))))
        }
        let uniques = try database.prepare(
            """
            SELECT group_concat(coalesce(i.name, 'an expression'), ', ')
            FROM pragma_index_list(?) l, pragma_index_info(l.name) i
            WHERE l."unique" AND l.origin <> 'pk' GROUP BY l.name ORDER BY l.seq DESC
            """)
        uniques.bind(0, name)
        while try uniques.step() { uniqueColumns.append(uniques.text(0) ?? "") }
        let indexes = try database.prepare(
            """
            SELECT max(i.name) FROM pragma_index_list(?) l, pragma_index_info(l.name) i
            WHERE l.partial = 0 AND l.origin <> 'pk' GROUP BY l.name HAVING count(*) = 1
            """)
        indexes.bind(0, name)
        while try indexes.step() {
            let indexed = indexes.text(0)
            for index in columns.indices where columns[index].name == indexed {
                columns[index].isIndexed = true
            }
        }
    }

    private mutating func readForeignKeys(_ database: SQLiteDatabase) throws {
        let list = try database.prepare(
            """
            SELECT max("table"), max("from"), max("to"), count(*) FROM pragma_foreign_key_list(?)
            GROUP BY id ORDER BY id
            """)
        list.bind(0, name)
        while try list.step() {
            guard let table = list.text(0), let column = list.text(1) else { continue }
            guard list.int(3) == 1 else {
                compositeForeignKeys += 1
                continue
            }
            let target = list.kind(2) == .null ? nil : list.text(2)
            if foreignKeys.contains(where: { $0.column == column }) { continue }
            foreignKeys.append(ForeignKey(table: table, column: column, target: target))
        }
    }
}

extension SQLiteTable: ImportedTable {
    var columnNames: [String] { columns.map(\.name) }
    var referencedNames: [String] { foreignKeys.map(\.table) }
    // Foreign keys can use another spelling of a name.
    static func folded(_ name: String) -> String { name.lowercased() }
}
