// Stands where the sign-in comes to be.
export function SignIn() {
  return <main>Sign in</main>;
}
