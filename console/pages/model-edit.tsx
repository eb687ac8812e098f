// To be.

export function ModelEdit() {
  return <p>ModelEdit</p>;
}
