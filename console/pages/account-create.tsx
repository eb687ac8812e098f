// To be.

export function AccountCreate() {
  return <p>AccountCreate</p>;
}
