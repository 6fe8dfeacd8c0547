import ObjectStore
import Testing
import Transfer

/// The values in a store that the fields of a CSV file become.
@Suite struct CSVImportTests {
    @Test func `the error for an unknown field lists the properties and the remedy`() throws {
        let world = try TransferWorld(["T": ["id": "int primary"]])
        let options = ImportOptions(class: "T")
        #expect(
            message { try world.take("id,color\n1,red\n", as: "a.csv", options) }.contains(
                "'T' has no property 'color'; it has 'id'; add --map color=PROPERTY"))
    }

    @Test func `an empty field is nil in every type, and clears on upsert`() throws {
        let types = [
            "bool?", "int?", "float?", "double?", "string?", "data?", "date?", "uuid?",
            "object_id?",
            "decimal?", "mixed", "Other",
        ]
        var schema = ["id": "int primary"]
        for (index, type) in types.enumerated() { schema["p\(index)"] = type }
        let world = try TransferWorld(["T": schema, "Other": ["id": "int primary"]])
        let values = [
            "true", "1", "1.5", "1.5", "x", "AAEC", "2026-01-01T00:00:00Z",
            "12345678-1234-1234-1234-123456789012", "0123456789abcdef01234567", "1.50", "7", "1",
        ]
        let header = "id," + types.indices.map { "p\($0)" }.joined(separator: ",")
        var options = ImportOptions(class: "Other")
        try world.take("id\n1\n", as: "o.csv", options)
        options.className = "T"
        options.isUpsert = true
        try world.take(header + "\n1," + values.joined(separator: ",") + "\n", as: "a.csv", options)
        let empty = header + "\n1" + String(repeating: ",", count: types.count) + "\n"
        options.keepsEmpty = true
        try world.take(empty, as: "b.csv", options)
        for index in types.indices {
            #expect(try world.values("T", "p\(index)") != [.null], "\(types[index])")
        }
        options.keepsEmpty = false
        let report = try world.take(empty, as: "b.csv", options)
        #expect(report.updated == 1)
        for index in types.indices {
            #expect(try world.values("T", "p\(index)") == [.null], "\(types[index])")
        }
    }

    @Test func `an empty field of a required property is an error, not a zero`() throws {
        for type in ["bool", "int", "double", "string", "date", "decimal"] {
            let world = try TransferWorld(["T": ["id": "int", "v": type]])
            let options = ImportOptions(class: "T")
            #expect(
                message { try world.take("id,v\n1,\n", as: "a.csv", options) }.contains(
                    "line 2"), "\(type)")
        }
    }

    @Test
    func `names with invalid characters become property names, and match them in later imports`()
        throws
    {
        let world = try TransferWorld([:])
        let options = ImportOptions(class: "T")
        let text = "unit price,unit_price,2nd,,Größe,$x\n1,2,3,4,5,6\n"
        try world.take(text, as: "a.csv", options)
        #expect(
            try world.types("T") == [
                "unit_price_2 int", "unit_price int", "_2nd int", "column_4 int", "Größe int",
                "_x int",
            ])
        let other = try TransferWorld(["T": ["unit_price": "int", "name": "string?"]])
        try other.take("unit price,name\n1,x\n", as: "a.csv", options)
        #expect(try other.values("T", "unit_price") == [.int(1)])
    }
}
