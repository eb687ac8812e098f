// To be.

export function ModelCreate() {
  return <p>ModelCreate</p>;
}
