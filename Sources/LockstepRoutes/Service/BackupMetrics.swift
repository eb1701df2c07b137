import LockstepMaintenance
import LockstepMiddleware

extension BackupScheduler.Metrics {
  /// Writes their families.
  func write(to page: inout MetricsPage) {
    page.single("lockstep_backups_total", .counter, "Backups made since the server started.", Double(made))
    page.single(
      "lockstep_backup_failures_total",
      .counter,
      "Backups that were to be made and weren't.",
      Double(failures)
    )
    page.single(
      "lockstep_backup_last_success_timestamp_seconds",
      .gauge,
      "When the newest backup was made, in seconds since 1970; 0 where there is none.",
      Double(last ?? 0) / 1000
    )
    page.single("lockstep_backup_last_bytes", .gauge, "How large the last one made was.", Double(bytes))
    page.single(
      "lockstep_backup_last_duration_seconds",
      .gauge,
      "How long the last one made took.",
      duration / .seconds(1)
    )
  }
}
