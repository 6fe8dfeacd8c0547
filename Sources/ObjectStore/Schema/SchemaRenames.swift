/// The names that a migration has changed.
///
/// Old names are those of the file before the migration. A name means what had it in the file, unless that was renamed;
/// a new name may be renamed again. All renames together are judged at the end, so names can be exchanged in any order.
struct SchemaRenames {
    /// The old names of renamed classes, by their new names.
    private(set) var classes: [String: String] = [:]
    /// The old names of renamed properties, by the old name of their class and their new name.
    private(set) var properties: [String: [String: String]] = [:]

    /// Returns the old name of a class; nil for a new class with a name that another class had.
    func oldClass(of name: String) -> String? {
        classes[name] ?? (classes.values.contains(name) ? nil : name)
    }

    /// Returns the new name of a class.
    func newClass(of oldName: String) -> String {
        classes.first { $0.value == oldName }?.key ?? oldName
    }

    /// Returns the old name of a property; nil for a new property with a name that another one had.
    func oldProperty(of name: String, in oldClass: String) -> String? {
        guard let renamed = properties[oldClass] else { return name }
        return renamed[name] ?? (renamed.values.contains(name) ? nil : name)
    }

    /// Returns the new name of a property.
    func newProperty(of oldName: String, in oldClass: String) -> String {
        properties[oldClass]?.first { $0.value == oldName }?.key ?? oldName
    }

    /// Returns whether a property keeps its values because it was renamed.
    func isRenamed(_ name: String, in oldClass: String) -> Bool {
        properties[oldClass]?[name] != nil
    }

    /// Renames the class that had a name in the file; otherwise the one that has it now.
    mutating func renameClass(_ name: String, to newName: String, among stored: Set<String>) {
        Self.rename(name, to: newName, among: stored, in: &classes)
    }

    /// Renames the property that had a name in the file; otherwise the one that has it now.
    mutating func renameProperty(
        _ name: String, to newName: String, in oldClass: ClassSchema
    ) {
        Self.rename(
            name, to: newName, among: Set(oldClass.properties.map(\.name)),
            in: &properties[oldClass.name, default: [:]])
    }

    /// Returns the old name of the class that a rename of a name concerns.
    func classToRename(_ name: String, among stored: Set<String>) -> String? {
        Self.original(of: name, among: stored, in: classes)
    }

    /// Returns the old name of the property that a rename of a name concerns.
    func propertyToRename(_ name: String, in oldClass: ClassSchema) -> String? {
        Self.original(
            of: name, among: Set(oldClass.properties.map(\.name)),
            in: properties[oldClass.name] ?? [:])
    }

    private static func original(
        of name: String, among stored: Set<String>, in names: [String: String]
    ) -> String? {
        stored.contains(name) && !names.values.contains(name) ? name : names[name]
    }

    private static func rename(
        _ name: String, to newName: String, among stored: Set<String>,
        in names: inout [String: String]
    ) {
        guard let old = original(of: name, among: stored, in: names) else { return }
        if names[name] == old { names[name] = nil }
        names[newName] = old == newName ? nil : old
    }
}
