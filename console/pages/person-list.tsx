// To be.

export function PersonList() {
  return <p>PersonList</p>;
}
