import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decode,
  decodeAgain,
  decodeBoth,
  ENCODINGS,
  encode,
  type Form,
  isGuessed,
  lineEnd,
  MissingLetter,
} from "./bytes.ts";

const bytes = (...parts: (number[] | string)[]) =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? [...Buffer.from(part)] : part)));
// Without 127: node's own table of IBM866 (not that of browsers) has another letter there.
const all = Uint8Array.from({ length: 224 }, (_, n) => n + 32).filter((byte) => byte !== 127);
const windows = (text: string) => encode(text, { encoding: "windows-1251", bom: false, end: "\n" });

/** What is read and saved untouched has the same bytes. */
function comesBack(original: Uint8Array, form: Form, encoding?: Form["encoding"]) {
  const read = decode(original, encoding);
  assert.ok(read);
  const { text, ...found } = read;
  assert.deepEqual(found, form);
  assert.deepEqual(encode(text, read), Uint8Array.from(original));
  return text;
}

test("every form comes back byte for byte", () => {
  comesBack(bytes(), { encoding: "utf-8", bom: false, end: "\n" });
  comesBack(bytes("цены: 5 €\nдва 😀"), { encoding: "utf-8", bom: false, end: "\n" });
  comesBack(bytes([0xef, 0xbb, 0xbf], "а\r\nб\r\n"), { encoding: "utf-8", bom: true, end: "\r\n" });
  comesBack(bytes([0xef, 0xbb, 0xbf]), { encoding: "utf-8", bom: true, end: "\n" });
  // A mark within the text is a letter.
  comesBack(bytes("a\ufeffb"), { encoding: "utf-8", bom: false, end: "\n" });
  comesBack(bytes([0xff, 0xfe, 0x10, 4, 13, 0, 10, 0]), { encoding: "utf-16le", bom: true, end: "\r\n" });
  comesBack(bytes([0xfe, 0xff, 4, 0x10, 0, 10]), { encoding: "utf-16be", bom: true, end: "\n" });
  comesBack(Uint8Array.from(Buffer.from("<a>б</a>\n", "utf16le")), {
    encoding: "utf-16le",
    bom: false,
    end: "\n",
  });
  comesBack(Uint8Array.from(Buffer.from("<a>б</a>\n", "utf16le").swap16()), {
    encoding: "utf-16be",
    bom: false,
    end: "\n",
  });
  comesBack(bytes("a\rb\r"), { encoding: "utf-8", bom: false, end: "\r" });
  assert.equal(
    comesBack(bytes("a\r\nb\nc\rd\n\r"), { encoding: "utf-8", bom: false, end: "mixed" }),
    "a\r\nb\nc\rd\n\r",
  );
  for (const encoding of ["windows-1251", "ibm866", "koi8-r", "windows-1252"] as const) {
    comesBack(all, { encoding, bom: false, end: "\n" }, encoding);
  }
});

test("line ends are counted by kind", () => {
  assert.deepEqual(["", "a\nb", "\r\n", "\r\n\r\n", "\r", "\r\r\n", "\n\r\n", "\n\r"].map(lineEnd), [
    "\n",
    "\n",
    "\r\n",
    "\r\n",
    "\r",
    "mixed",
    "mixed",
    "mixed",
  ]);
});

test("what was pasted gets the file's line ends, not that of a mixed file", () => {
  const form: Form = { encoding: "utf-8", bom: false, end: "\r\n" };
  assert.equal(Buffer.from(encode("a\r\nb\nc\r", form)).toString(), "a\r\nb\r\nc\r\n");
  assert.equal(Buffer.from(encode("a\nb\r\n", { ...form, end: "\n" })).toString(), "a\nb\n");
  assert.equal(Buffer.from(encode("a\nb\r\n", { ...form, end: "mixed" })).toString(), "a\nb\r\n");
});

test("Russian texts without a mark are told apart", () => {
  const text =
    "Процедура ЗагрузитьЦены()\n  // Загружает цены из файла конфигурации и записывает их\nКонецПроцедуры\n";
  const capitals = "[ОБМЕН С САЙТОМ]\nАДРЕС СЕРВЕРА=БУХГАЛТЕРИЯ И СКЛАД НА ПЕРВОМ ЭТАЖЕ\n";
  for (const encoding of ["windows-1251", "ibm866", "koi8-r"] as const) {
    for (const whole of [text, capitals]) {
      assert.equal(decode(encode(whole, { encoding, bom: false, end: "\n" }))?.text, whole, encoding);
    }
  }
  assert.equal(decode(windows("Ж"))?.encoding, "windows-1251");
});

test("texts of Western Europe are told from Russian ones", () => {
  const western = [
    "Nr;Größe\r\n1;2\r\n",
    "Größe",
    "Öl",
    "Preis=5 €\n",
    "§ 4 Änderungen: die Maße der Körper, \u201eübliche\u201c Größen, für Straßen – ÖPNV\n",
    "[été]\nprix=où la tempête a été créée, à l’œuvre ; \u00ab déjà \u00bb\n",
    "prix=a la carte à 5\n",
    "título=configuración, mañana, niño; ação, não\n",
  ];
  for (const text of western) {
    const read = decode(encode(text, { encoding: "windows-1252", bom: false, end: "\n" }));
    assert.deepEqual([read?.encoding, read?.text], ["windows-1252", text.replaceAll("\r\n", "\n")]);
  }
  const russian = [
    "Цех",
    "цена=в\nимя=и\n",
    "[Обмен]\nURLСервера=http://x\nHTTPМетод=GET\n",
    "Код;Цена\n1;Гвозди 5 мм\nXMLв=да\n",
    "; Настройка обмена с сайтом\nname=price list\ntimeout=10\nAddress=Москва\n",
  ];
  for (const text of russian) {
    for (const encoding of ["windows-1251", "ibm866", "koi8-r"] as const) {
      const read = decode(encode(text, { encoding, bom: false, end: "\n" }));
      assert.notEqual(read?.encoding, "windows-1252", `${encoding}: ${text}`);
    }
    assert.equal(decode(windows(text))?.text, text);
  }
});

test("Windows-1252 has its own letters, and keeps the bytes that are none", () => {
  const form: Form = { encoding: "windows-1252", bom: false, end: "\n" };
  const odd = Uint8Array.from([0x80, 0x99, 0x81, 0x8d, 0x9f, 0xff]);
  assert.equal(comesBack(odd, form, "windows-1252"), "€™\x81\x8dŸÿ");
  assert.throws(() => encode("Ж", form), MissingLetter);
});

test("an encoding that nothing names is a guess", () => {
  const of = (text: string, encoding: Form["encoding"]) =>
    isGuessed(text, { encoding, bom: false, end: "\n" });
  assert.equal(of("Größe", "windows-1252"), true);
  assert.equal(of("Größe", "utf-8"), false);
  assert.equal(of("<?xml version='1.0' encoding='ISO-8859-1'?>", "windows-1252"), false);
  assert.equal(of("<?xml version='1.0' encoding='ISO-8859-1'?>", "koi8-r"), true);
});

test("of two states the larger one says what was guessed", () => {
  const [was, is] = decodeBoth(bytes([0xd6]), windows("Цены на складе и обмен с сайтом"));
  assert.deepEqual([was?.text, is?.encoding], ["Ц", "windows-1251"]);
  const german = (text: string) => encode(text, { encoding: "windows-1252", bom: false, end: "\n" });
  assert.deepEqual(
    decodeBoth(german("Größe Maß"), german("Ä")).map((one) => one?.text),
    ["Größe Maß", "Ä"],
  );
  assert.deepEqual(
    decodeBoth(bytes("Ä"), german("Ä")).map((one) => one?.encoding),
    ["utf-8", "windows-1252"],
  );
  assert.equal(decodeBoth(null, bytes("a"))[1]?.text, "a");
});

test("an XML declaration decides", () => {
  const text = '<?xml version="1.0" encoding="KOI8-R"?>\n<a>Ж</a>';
  assert.equal(decode(encode(text, { encoding: "koi8-r", bom: false, end: "\n" }))?.text, text);
});

test("binary files are no text", () => {
  assert.equal(decode(bytes([0x89], "PNG\r\n", [0x1a, 10, 0, 0, 0, 13])), null);
  assert.equal(decode(bytes("PK", [3, 4, 0xff, 1])), null);
  assert.equal(decode(bytes([0, 0, 0, 0])), null);
  assert.equal(decode(bytes([0, 1, 2, 3])), null);
  assert.equal(decode(bytes([0xff, 0xfe, 1])), null);
  // Half of a pair of units.
  assert.equal(decode(bytes([0xff, 0xfe, 0x3d, 0xd8])), null);
  assert.equal(decode(bytes([0xff, 0x80]), "utf-8"), null);
});

test("an encoding that was chosen holds for other bytes, unless they have become something else", () => {
  const again = (other: Uint8Array, chosen: Form["encoding"]) => {
    const read = decodeAgain(other, chosen);
    return read && [read.text, read.encoding];
  };
  assert.deepEqual(again(bytes([0x96, 0xa5, 0xe5], "2"), "ibm866"), ["Цех2", "ibm866"]);
  assert.deepEqual(again(bytes("2"), "ibm866"), ["2", "ibm866"]);
  assert.deepEqual(again(bytes("Цех"), "ibm866"), ["Цех", "utf-8"]);
  assert.deepEqual(again(bytes([0xff, 0xfe, 0x26, 4]), "ibm866"), ["Ц", "utf-16le"]);
  assert.deepEqual(again(windows("Цех"), "utf-8"), ["Цех", "windows-1251"]);
  assert.equal(again(bytes([0x96, 1, 2]), "ibm866"), null);
  assert.deepEqual(again(bytes("Цех2"), "utf-16le"), ["Цех2", "utf-8"]);
  assert.deepEqual(again(bytes("port"), "utf-16be"), ["port", "utf-8"]);
  assert.deepEqual(again(windows("Цены"), "utf-16le"), ["Цены", "windows-1251"]);
  assert.deepEqual(again(bytes([0xff, 0xfe, 0x26, 4]), "utf-16be"), ["Ц", "utf-16le"]);
  // So little of it is zero bytes that it is not found.
  const few = Uint8Array.from(Buffer.from("Цех 2", "utf16le"));
  assert.deepEqual(again(few, "utf-16le"), ["Цех 2", "utf-16le"]);
});

test("a letter that the encoding lacks is named, with its place", () => {
  const lacks = (text: string, encoding: Form["encoding"]) => {
    try {
      encode(text, { encoding, bom: false, end: "\n" });
    } catch (error) {
      assert.ok(error instanceof MissingLetter);
      return [error.letter, error.at];
    }
    return null;
  };
  assert.deepEqual(lacks("цена 😀 и ∑", "windows-1251"), ["😀", 5]);
  assert.deepEqual(lacks("\u00ab\u00bb", "ibm866"), ["\u00ab", 0]);
  assert.deepEqual(lacks("a\ud800", "utf-8"), ["\ud800", 1]);
  for (const encoding of ENCODINGS) {
    if (encoding !== "windows-1252") assert.equal(lacks("Цена 1\n", encoding), null);
  }
});

test("10 MB are read and written in reasonable time", () => {
  const line = "<price sku='A-1000' unit='шт'>12.00</price>\r\n";
  const large = bytes(line.repeat(10_000)).slice();
  const start = performance.now();
  comesBack(large, { encoding: "utf-8", bom: false, end: "\r\n" });
  assert.ok(performance.now() - start < 5000);
});
