// To be.

export function ModelShow() {
  return <p>ModelShow</p>;
}
