#if canImport(SwiftUI)
  import FavoritesModel
  import SwiftUI

  /// Signs a user up, or logs a user in.
  struct LoginView: View {
    let coordinator: LoginCoordinator
    @State private var email = ""
    @State private var password = ""

    var body: some View {
      Form {
        TextField("E-mail address", text: $email).textContentType(.username)
        SecureField("Password", text: $password).textContentType(.password)
        if let failure = coordinator.failure { Text(failure).foregroundStyle(.red) }
        Button("Log in") { Task { await coordinator.logIn(email: email, password: password) } }
        Button("Sign up") { Task { await coordinator.signUp(email: email, password: password) } }
      }
      .disabled(coordinator.isBusy)
      .navigationTitle("Log in")
    }
  }
#endif
