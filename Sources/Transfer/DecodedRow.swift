import DataFormats
import ObjectStore

/// A row of a file, decoded into values of a class.
struct DecodedRow {
    let classSchema: ClassSchema
    /// The values in schema order; nil for properties that the row does not have.
    var values: [Value?]
    /// The number that other rows of the file use to link to this row.
    var number: Int64?

    init(_ classSchema: ClassSchema) {
        self.classSchema = classSchema
        values = [Value?](repeating: nil, count: classSchema.properties.count)
    }

    var primaryKey: Value? {
        classSchema.properties.firstIndex(where: \.isPrimary).flatMap { values[$0] }
    }

    /// The values by name, without the primary key, which does not change.
    var valuesByName: ValueMap {
        var named: ValueMap = [:]
        for (property, value) in zip(classSchema.properties, values) where !property.isPrimary {
            named[property.name] = value
        }
        return named
    }
}
