import ColumnStorage
import ObjectStore

/// The objects of one model in a store or a frozen version, with the data for fast reads.
@usableFromInline
package final class ModelTable {
    /// The rows of the class in the version that the store shows.
    @usableFromInline package let rows: TableReader
    /// The column by the byte offset of the property in the model.
    @usableFromInline package let columns: [ColumnID]
    /// Whether reads inside of tracking scopes and of a script's effects register.
    @usableFromInline let isObservable: Bool
    package let context: ModelContext
    private let model: ObjectIdentifier
    package let description: ModelDescription
    /// Whether a host has compared the class with the model.
    var isVerified = false
    /// The class at the creation of the table.
    package let classSchema: ClassSchema

    init(
        _ model: ObjectIdentifier, _ description: ModelDescription, _ context: ModelContext
    ) throws {
        self.model = model
        self.description = description
        self.context = context
        isObservable = context.isObservable
        let view = context.source.view
        guard let classSchema = view.schema.find(description.className) else {
            throw StoreError(
                .unknownClass,
                "the store has no class '\(description.className)'; add \(description.className).self to its models"
            )
        }
        self.classSchema = classSchema
        rows = view.reader(of: classSchema.table)
        var columns = Array(
            repeating: ColumnID.unassigned, count: description.fieldsByOffset.count)
        for (offset, index) in description.fieldsByOffset.enumerated() where index >= 0 {
            if let property = classSchema.property(named: description.fields[index].name),
                property.isSingle
            {
                columns[offset] = property.column
            }
        }
        self.columns = columns
    }

    deinit { context.forgetTable(of: model) }

    /// Returns the property at a byte offset of the model.
    package func property(at offset: Int) throws -> Property {
        guard offset >= 0, offset < description.fieldsByOffset.count,
            description.fieldsByOffset[offset] >= 0
        else {
            throw StoreError(
                .invalidArgument,
                "the key path is not a stored property of '\(description.className)'")
        }
        let name = description.fields[description.fieldsByOffset[offset]].name
        let latest = context.source.view.schema.find(table: classSchema.table) ?? classSchema
        return try latest.requireProperty(name)
    }

    /// Returns the primary key of an object; nil if it has none or cannot be read.
    func primaryKey(of key: ObjectKey) -> Mixed? {
        guard let property = classSchema.primaryKey else { return nil }
        let value = try? context.source.view.value(property, of: key, in: classSchema)
        return value.map(Mixed.init(_:))
    }

    /// Returns the engine's handle of an object.
    package func liveObject(_ key: ObjectKey) -> LiveObject {
        context.source.object(classSchema, key)
    }
}
