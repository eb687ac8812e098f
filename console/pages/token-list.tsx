// To be.

export function TokenList() {
  return <p>TokenList</p>;
}
