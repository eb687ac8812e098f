// To be.

export function KeyCreate() {
  return <p>KeyCreate</p>;
}
