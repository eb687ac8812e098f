// To be.

export function KeyShow() {
  return <p>KeyShow</p>;
}
