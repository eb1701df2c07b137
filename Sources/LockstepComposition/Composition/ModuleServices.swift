import LockstepModules
import LockstepStore
import LockstepSync

/// The modules: those of Lockstep, of the program, and declared collections.
struct ModuleServices: Sendable {
  /// The modules of the program.
  let own: [UserModule]
  let defaults: DefaultsModule
  /// All modules: those of Lockstep, then `own`, then declared collections.
  let all: Modules
  let tables: ModuleTables
  let history: StateHistory

  init(_ configuration: Configuration, own: [UserModule]) {
    self.own = own
    defaults = DefaultsModule(quota: configuration.defaultsQuota)
    all = Modules([.favorites(quota: configuration.favoritesQuota), defaults.userModule, .profile] + own)
    tables = ModuleTables(all)
    history = StateHistory(states: tables)
  }
}
