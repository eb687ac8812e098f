// To be.

export function KeyList() {
  return <p>KeyList</p>;
}
