// To be.

export function GroupList() {
  return <p>GroupList</p>;
}
