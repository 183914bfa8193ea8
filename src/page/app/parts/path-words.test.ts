import "../../shared/stand-in.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { pathWords } from "./path-words.ts";

test("why a path is refused is said in words of the page, with the file that it is said of", () => {
  const words = {
    "malformed path: a segment is empty":
      "A name is missing: there is a “/” at the start, at the end, or beside another.",
    '"x.txt" is a file, not a folder': "“x.txt” is a file: nothing can be below it.",
    'action 1 (put "x.txt/small.txt"): "x.txt" is a file, not a folder':
      "“x.txt/small.txt”: “x.txt” is a file: nothing can be below it.",
    'action 2 (put "d"): "d" is a folder, not a file': "“d”: “d” is a folder.",
    'action 12 (move "a" to "b: c"): the file does not exist':
      "“a”: The service says: the file does not exist",
    '"a\\b": malformed path: it holds a backslash': "“a\\b”: The path has a “\\”. Folders end with “/”.",
    '"n": malformed path: a segment is longer than 255 bytes':
      "“n”: A name in the path is longer than 255 bytes.",
  };
  assert.deepEqual(Object.fromEntries(Object.keys(words).map((said) => [said, pathWords(said)])), words);
  assert.equal(pathWords("content is not base64"), undefined);
  assert.equal(pathWords('"a": something else'), undefined);
});
