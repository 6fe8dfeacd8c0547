/// The names that a migration has changed.
///
/// Old names are those of the file before the migration. A new name may be renamed again.
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

    mutating func renameClass(_ name: String, to newName: String) {
        let old = classes.removeValue(forKey: name) ?? name
        if old != newName { classes[newName] = old }
    }

    mutating func renameProperty(_ name: String, to newName: String, in oldClass: String) {
        let old = properties[oldClass]?.removeValue(forKey: name) ?? name
        if old != newName { properties[oldClass, default: [:]][newName] = old }
    }
}
