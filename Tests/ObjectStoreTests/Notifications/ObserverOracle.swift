import ColumnStorage

@testable import ObjectStore

/// Returns whether a row counts as modified, by following its links forward.
struct Oracle {
    let before: StoreView
    let now: StoreView
    let changes: ChangeSet
    let paths: [PropertyPath]

    func isTouched(_ classSchema: ClassSchema, _ key: ObjectKey) throws -> Bool {
        try paths.isEmpty
            ? isTouched(classSchema, key, hops: 3)
            : paths.contains { try isTouched($0.components[...], key) }
    }

    private func isModified(_ table: TableID, _ column: ColumnID, _ key: ObjectKey) -> Bool {
        changes.tables[table]?.modified[column]?.contains(key) == true
    }

    private func targets(_ property: Property, _ table: TableID, _ key: ObjectKey) -> [ObjectKey] {
        guard let value = try? now.value(property, of: key, in: now.schema.find(table: table)!)
        else { return [] }
        switch value {
        case .object(let reference): return [reference.key]
        case .list(let values):
            return values.compactMap {
                if case .object(let object) = $0 { object.key } else { nil }
            }
        default: return []
        }
    }

    private func isTouched(_ classSchema: ClassSchema, _ key: ObjectKey, hops: Int) -> Bool {
        classSchema.properties.contains { property in
            guard !property.isBacklinks else { return false }
            if isModified(classSchema.table, property.column, key) { return true }
            guard property.type == .object, hops > 0, let target = now.schema.target(of: property)
            else { return false }
            return targets(property, classSchema.table, key).contains {
                isTouched(target, $0, hops: hops - 1)
            }
        }
    }

    func isTouched(
        _ components: ArraySlice<PropertyPath.Component>, _ key: ObjectKey
    ) throws -> Bool {
        guard let component = components.first else { return false }
        if let origin = component.origin {
            // All links to a new object are newer than the previous version.
            let old =
                try before.table(component.table).isPresent(key)
                ? before.table(origin.table).sources(of: key, through: origin.column) : []
            if try old != now.table(origin.table).sources(of: key, through: origin.column) {
                return true
            }
        } else if isModified(component.table, component.property.column, key) {
            return true
        }
        return try targets(component.property, component.table, key).contains {
            try isTouched(components.dropFirst(), $0)
        }
    }
}
