#if canImport(SwiftUI)
  import FavoritesModel
  import SwiftUI

  /// The form for the profile, which the server runs.
  struct ProfileView: View {
    let coordinator: ProfileCoordinator
    @Bindable private var form: ProfileForm

    init(coordinator: ProfileCoordinator) {
      self.coordinator = coordinator
      _form = Bindable(coordinator.form)
    }

    var body: some View {
      Form {
        field("Company", $form.companyName, form.state.validatedCompanyName)
        field("Position", $form.position, form.state.validatedPosition)
        if let failure = form.failure { Text(failure).foregroundStyle(.red) }
        Button(form.state.isLoading ? "Saving…" : "Save") { form.save() }
          .disabled(!form.state.saveEnabled || form.state.isLoading)
      }
      .navigationTitle("Profile")
      .toolbar { Button("Done") { coordinator.done() } }
      .alert(form.state.prompt?.title ?? "", isPresented: .constant(form.state.prompt != nil)) {
        ForEach(form.state.prompt?.choices ?? [], id: \.self) { choice in
          Button(form.state.prompt?.text(of: choice) ?? choice) { form.answer(choice) }
        }
      } message: {
        Text(form.state.prompt?.message ?? "")
      }
    }

    private func field(_ name: String, _ text: Binding<String>, _ check: WorkingHistory.Validation) -> some View {
      VStack(alignment: .leading) {
        TextField(name, text: text)
        if !check.message.isEmpty {
          Text(check.message).font(.caption).foregroundStyle(check.isFailure ? .red : .secondary)
        }
      }
    }
  }
#endif
