import ColumnStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension Store {
    /// Returns the holders of old versions of the file in all processes, the oldest version first.
    ///
    /// A store at the newest version does not hold an old one. Reads the file's list of free pages.
    ///
    /// Throws `closed`, `wrong_thread`, and the errors of reading the file.
    package func pins() throws -> [VersionPin] {
        try check()
        let file = view.snapshot.file
        let newest = file.latestVersion()
        let held = try StoreError.wrapping(file.heldVersions())
        var found: [(VersionPin.Kind, VersionHolder, Timestamp?, Int32, UInt64)] = []
        var known: Set<UInt64> = [newest]
        for pin in coordinator.pins.pins {
            let version = pin.version
            known.insert(version)
            if pin.kind == .store, version >= newest { continue }
            found.append((pin.kind, pin.holder, pin.since, getpid(), version))
        }
        for version in held.own where !known.contains(version) {
            found.append((.observers, VersionHolder(), nil, getpid(), version))
        }
        var seen: Set<[UInt64]> = []
        for reader in held.foreign where reader.version < newest {
            guard seen.insert([UInt64(reader.process), reader.version]).inserted else { continue }
            found.append((.process, VersionHolder(), nil, reader.process, reader.version))
        }
        let bytes = try StoreError.wrapping(file.bytesKept(by: found.map(\.4)))
        return zip(found, bytes).map { pin, bytes in
            VersionPin(
                version: pin.4, kind: pin.0, holder: pin.1, since: pin.2, process: pin.3,
                bytes: bytes)
        }.sorted {
            ($0.version, $0.kind.rawValue, $0.holder.location, $0.process)
                < ($1.version, $1.kind.rawValue, $1.holder.location, $1.process)
        }
    }

    /// Throws `too_many_versions` if more versions are pinned than the store allows.
    ///
    /// Freed pages can be reused only after all older versions are released, so all versions since the oldest pinned
    /// one count.
    func checkLiveVersions() throws {
        guard let limit = configuration.maximumLiveVersions else { return }
        let file = view.snapshot.file
        let held = try StoreError.wrapping(file.heldVersions())
        let newest = view.version
        let oldest = min(held.own.min() ?? newest, held.foreign.map(\.version).min() ?? newest)
        let count = newest - min(oldest, newest) + 1
        guard count > UInt64(max(limit, 0)) else { return }
        let holders = try pins().filter { $0.version == oldest }.map(\.summary)
        let holder = holders.isEmpty ? "another process" : holders.joined(separator: ", ")
        throw StoreError(
            .tooManyVersions,
            "\(count) versions are in use, and \(limit) are allowed: the oldest version, \(oldest), "
                + "is held by \(holder)", program: "release it, or raise maximumLiveVersions",
            script: "release it, or raise max_live_versions")
    }
}
