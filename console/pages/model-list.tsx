// To be.

export function ModelList() {
  return <p>ModelList</p>;
}
