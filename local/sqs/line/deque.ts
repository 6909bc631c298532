/** First in, first out, in constant time: an array whose front is cut off now and then. */
export interface Deque<T> {
  items: T[];
  head: number;
}

export function createDeque<T>(): Deque<T> {
  return { items: [], head: 0 };
}

export function dequeSize(deque: Deque<unknown>): number {
  return deque.items.length - deque.head;
}

export function shiftFront<T>(deque: Deque<T>): T | undefined {
  if (deque.head >= deque.items.length) return undefined;
  const item = deque.items[deque.head];
  deque.head += 1;
  if (deque.head === deque.items.length) {
    deque.items = [];
    deque.head = 0;
  } else if (deque.head > 1024 && deque.head * 2 > deque.items.length) {
    deque.items = deque.items.slice(deque.head);
    deque.head = 0;
  }
  return item;
}
