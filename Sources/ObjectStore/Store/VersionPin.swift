/// The code that opened a store or froze a version, for reports.
package struct VersionHolder: Hashable, Sendable {
    /// The name of the script; empty if no script is involved.
    package var script: String
    /// The file and line, as in `zoo.lua:12`; empty if unknown.
    package var location: String

    /// Creates a holder.
    package init(script: String = "", location: String = "") {
        self.script = script
        self.location = location
    }
}

/// A holder that keeps an old version of a file readable, and thereby keeps pages that newer versions could reuse.
package struct VersionPin: Hashable, Sendable {
    /// The kind of holder.
    package enum Kind: String, Hashable, Sendable {
        /// A store of this process that has not moved to a newer version.
        case store
        /// A frozen version that this process still references.
        case frozen
        /// A reference to results that was not resolved yet.
        case reference
        /// Observers of this process that have not received newer versions yet, or results passed to them.
        case observers
        /// Another process.
        case process
    }

    /// The pinned version.
    package let version: UInt64
    /// The kind of holder.
    package let kind: Kind
    /// The holder of the version.
    package let holder: VersionHolder
    /// The time at which the holder pinned the version, if this process knows it.
    package let since: Timestamp?
    /// The id of the process.
    package let process: Int32
    /// The number of bytes of the file that cannot be reused while the version is pinned.
    ///
    /// Several holders of old versions may keep the same bytes.
    package let bytes: Int
}

extension VersionPin {
    /// A description of the holder, such as `a frozen version of zoo.lua:12`.
    package var summary: String {
        let location = holder.location.isEmpty ? holder.script : holder.location
        let end = location.isEmpty ? "" : " of \(location)"
        return switch kind {
        case .store: "the store\(end)"
        case .frozen: "a frozen version\(end)"
        case .reference: "a reference\(end)"
        case .observers: "observers with pending calls"
        case .process: "process \(process)"
        }
    }
}
