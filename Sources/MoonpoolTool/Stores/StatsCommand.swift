import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import Replication
import SystemCalls
import Transfer

/// The command `moonpool stats STORE`.
struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Print the contents and space usage of a store.",
        discussion: """
            Prints the number of objects; the bytes of each class, property, collection and index; the history, free pages \
            and version pins. Bytes count stored keys and values; the file is larger because pages are partly full. Other \
            processes can use the store in the meantime.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var realm: RealmOptionGroup

    @OptionGroup var version: SchemaVersionOption

    func run() throws {
        try CommandFailure.shown {
            if try realm.isRealm(store) {
                let report = try RowFormats.realm.required().report(store, realm.options)
                return ProcessServices.writeOutput(json ? report.json : report.text)
            }
            let opened = try CommandStore.open(store, isReadOnly: true, version)
            defer { opened.close() }
            let statistics = try opened.statistics()
            let replication = try ReplicationReport.read(opened)
            ProcessServices.writeOutput(
                json
                    ? StatisticsReport.json(statistics, replication, store)
                    : StatisticsReport.text(statistics, replication, store))
        }
    }
}

/// The output of `moonpool stats`.
enum StatisticsReport {
    /// Returns the report as text.
    static func text(
        _ statistics: StoreStatistics, _ replication: ReplicationReport?, _ path: String
    ) -> String {
        var lines = [
            path,
            "  version         \(statistics.version)",
            "  schema version  \(statistics.schemaVersion)",
            "  objects         \(statistics.objects)",
            "  file            \(FileReport.size(statistics.fileBytes)), "
                + "\(FileReport.size(statistics.usedBytes)) in use, "
                + counted(statistics.freePages, "free page")
                + " of \(statistics.pageBytes) bytes",
            "  history         \(history(statistics))",
        ]
        let pins = statistics.pins.map {
            "version \($0.version), \(FileReport.size($0.bytes)), by \($0.summary)"
        }
        if pins.isEmpty {
            lines.append("  version pins    none")
        } else {
            lines.append("  version pins    " + pins.joined(separator: "\n                  "))
        }
        for (name, value) in replication?.rows ?? [] {
            lines.append("  " + name + String(repeating: " ", count: 16 - name.count) + value)
        }
        guard !statistics.classes.isEmpty else { return lines.joined(separator: "\n") + "\n" }
        let rows = statistics.classes.flatMap(rows)
        let header = ["", "", "values", "elements", "indexes", "bytes"]
        return lines.joined(separator: "\n") + "\n\n" + table([header] + rows)
    }

    private static func counted(_ count: Int, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }

    private static func history(_ statistics: StoreStatistics) -> String {
        guard let versions = statistics.historyVersions else { return "none" }
        return "\(counted(versions.count, "version")), \(versions.lowerBound) to "
            + "\(versions.upperBound), \(FileReport.size(statistics.historyBytes))"
    }

    private static func rows(_ found: StoreStatistics.ClassStatistics) -> [[String]] {
        let kind = found.isEmbedded ? " (embedded)" : ""
        var rows = [
            [
                found.name + kind, counted(found.objects, "object"), "", "",
                "\(found.indexBytes)", "\(found.bytes)",
            ]
        ]
        for property in found.properties {
            let usage = property.usage
            rows.append([
                "  \(property.name)", property.typeName, "\(usage.values + usage.longValues)",
                "\(usage.elements)", "\(usage.index + usage.fullText)", "\(usage.total)",
            ])
        }
        for index in found.indexes {
            rows.append([
                "  (\(index.properties.joined(separator: ", ")))", "index", "", "",
                "\(index.bytes)", "\(index.bytes)",
            ])
        }
        if found.waitingBytes > 0 {
            rows.append(["  newest objects", "", "", "", "", "\(found.waitingBytes)"])
        }
        return rows
    }

    /// Lays out two columns of names, followed by columns of numbers.
    private static func table(_ rows: [[String]]) -> String {
        let widths = (rows.first ?? []).indices.map { column in
            rows.map { $0[column].count }.max() ?? 0
        }
        return rows.map { row in
            let cells = row.indices.map { column in
                let gap = String(repeating: " ", count: widths[column] - row[column].count)
                return column < 2 ? row[column] + gap : gap + row[column]
            }
            var line = cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }.joined()
    }

    /// Returns the report as JSON.
    static func json(
        _ statistics: StoreStatistics, _ replication: ReplicationReport?, _ path: String
    ) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.member("store", path)
        for (key, value) in [
            ("version", Int64(clamping: statistics.version)),
            ("schema_version", Int64(clamping: statistics.schemaVersion)),
            ("objects", Int64(statistics.objects)), ("file_bytes", Int64(statistics.fileBytes)),
            ("used_bytes", Int64(statistics.usedBytes)),
            ("page_bytes", Int64(statistics.pageBytes)),
            ("free_pages", Int64(statistics.freePages)),
            ("history_bytes", Int64(statistics.historyBytes)),
        ] {
            json.key(key)
            json.int(value)
        }
        json.key("history")
        if let versions = statistics.historyVersions {
            json.beginArray()
            json.int(Int64(clamping: versions.lowerBound))
            json.int(Int64(clamping: versions.upperBound))
            json.endArray()
        } else {
            json.null()
        }
        json.key("classes")
        json.beginArray()
        for found in statistics.classes { write(found, to: &json) }
        json.endArray()
        json.key("pins")
        json.beginArray()
        for pin in statistics.pins {
            json.beginObject()
            json.member("version", pin.version)
            json.member("kind", pin.kind.rawValue)
            json.member("held_by", pin.summary)
            json.member("process", pin.process)
            json.member("bytes", pin.bytes)
            json.endObject()
        }
        json.endArray()
        if let replication {
            json.key("replication")
            write(replication, to: &json)
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self) + "\n"
    }

    private static func write(_ report: ReplicationReport, to json: inout JSONWriter) {
        json.beginObject()
        for (key, text) in [
            ("role", report.role.rawValue), ("stream", report.stream), ("servers", report.servers),
            ("state", report.state),
        ] {
            json.key(key)
            json.string(text)
        }
        for (key, number) in [
            ("process", report.process), ("position", report.sequence), ("version", report.version),
            ("skipped", report.skipped),
        ] {
            json.key(key)
            json.int(Int64(clamping: number))
        }
        json.key("lag")
        if let lag = report.lag { json.int(Int64(clamping: lag)) } else { json.null() }
        json.key("rate")
        json.double(report.rate)
        for (key, text) in [
            ("last_error", report.lastError?.message),
            ("last_error_time", report.lastError?.time.description),
            ("last_error_recovery", report.lastError?.recovery?.description),
        ] {
            json.key(key)
            if let text { json.string(text) } else { json.null() }
        }
        if let lease = report.lease {
            json.key("cluster")
            json.beginObject()
            json.member("is_writer", lease.isValid)
            json.member("lease", lease.number)
            json.member("holder", lease.holder)
            json.endObject()
        }
        json.endObject()
    }

    private static func write(
        _ found: StoreStatistics.ClassStatistics, to json: inout JSONWriter
    ) {
        json.beginObject()
        json.member("name", found.name)
        json.member("embedded", found.isEmbedded)
        json.member("objects", found.objects)
        json.member("bytes", found.bytes)
        json.member("waiting_bytes", found.waitingBytes)
        json.key("properties")
        json.beginArray()
        for property in found.properties {
            json.beginObject()
            json.member("name", property.name)
            json.member("type", property.typeName)
            let usage = property.usage
            for (key, bytes) in [
                ("values", usage.values), ("long_values", usage.longValues),
                ("elements", usage.elements), ("index", usage.index),
                ("fulltext", usage.fullText), ("bytes", usage.total),
            ] {
                json.key(key)
                json.int(Int64(bytes))
            }
            json.endObject()
        }
        json.endArray()
        json.key("indexes")
        json.beginArray()
        for index in found.indexes {
            json.beginObject()
            json.key("properties")
            json.beginArray()
            for name in index.properties { json.string(name) }
            json.endArray()
            json.member("bytes", index.bytes)
            json.endObject()
        }
        json.endArray()
        json.endObject()
    }
}
