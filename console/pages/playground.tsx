// To be.

export function Playground() {
  return <p>Playground</p>;
}
