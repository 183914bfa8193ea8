// A store as a small company has it: projects, a branch with a history of each kind, accounts, tokens.

/** The Admin API as one account. */
export class Account {
  #base;
  #cookie = "";

  constructor(base) {
    this.#base = base;
  }

  static async login(base, username, password) {
    const account = new Account(base);
    const answer = await fetch(`${base}/user/login`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ username, password }),
    });
    if (!answer.ok) throw new Error(`login of ${username}: ${answer.status} ${await answer.text()}`);
    account.#cookie = answer.headers.get("set-cookie").split(";")[0];
    return account;
  }

  async send(method, path, body, headers = {}) {
    const json = body !== undefined && !(body instanceof Uint8Array) && typeof body !== "string";
    const answer = await fetch(`${this.#base}${path}`, {
      method,
      headers: {
        Cookie: this.#cookie,
        "Sec-Fetch-Site": "same-origin",
        ...(body === undefined ? {} : { "Content-Type": json ? "application/json" : "application/octet-stream" }),
        ...headers,
      },
      body: json ? JSON.stringify(body) : body,
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  }

  async json(method, path, body, headers) {
    const answer = await this.send(method, path, body, headers);
    return answer.status === 204 ? null : await answer.json();
  }
}

const api = "/site-builder/api";
export const project = (repo) => `${api}/projects/${encodeURIComponent(repo)}`;
export const branch = (repo, name) => `${project(repo)}/branches/${encodeURIComponent(name)}`;
export const file = (repo, name, path) => `${branch(repo, name)}/files/${encodeURIComponent(path)}`;

/** A file's bytes as they are in the branch now. */
export async function bytesOf(account, repo, name, path) {
  const answer = await account.send("GET", file(repo, name, path));
  return new Uint8Array(await answer.arrayBuffer());
}

const base64 = (text) => Buffer.from(text).toString("base64");
const create = (path, text) => ({ action: "create", file_path: path, content: base64(text), encoding: "base64" });
const update = (path, text) => ({ action: "update", file_path: path, content: base64(text), encoding: "base64" });

/** Letters of Windows-1251. */
export function windows1251(text) {
  return Uint8Array.from(text, (letter) => {
    const code = letter.codePointAt(0);
    if (code < 128) return code;
    if (code >= 0x410 && code <= 0x44f) return code - 0x410 + 0xc0;
    throw new Error(`no letter of the seed: ${letter}`);
  });
}

const prices = (currency, zero) => `<?xml version="1.0" encoding="UTF-8"?>
<prices currency="${currency}" updated="2026-11-18">
${Array.from({ length: 50 }, (_, at) => {
  const price = zero && (at === 2 || at === 3) ? "0.00" : (12 + at * 37.1).toFixed(2);
  return `  <price sku="A-${1000 + at}" unit="pcs">${price}</price>`;
}).join("\n")}
</prices>
`;

const module = `// Общий модуль обмена с сайтом
#Область ПрограммныйИнтерфейс

// Загружает цены из файла конфигурации.
Процедура ЗагрузитьЦены(ИмяФайла, Отказ = Ложь) Экспорт

    Если НЕ ЗначениеЗаполнено(ИмяФайла) Тогда
        ВызватьИсключение "Не задано имя файла";
    КонецЕсли;
    Ответ = ПолучитьФайл("main", ИмяФайла, 30);

КонецПроцедуры

#КонецОбласти
`;

export const REPO = "acme/shop.erp";
export const PASSWORD = "correct-horse-7-battery";

/** A new project of one branch, `main`; each of `saves` is one batch, of paths with their texts. */
export async function newProject(account, name, ...saves) {
  const repo = `${name}.erp`;
  await account.json("POST", `${api}/projects`, { name, type: "erp" });
  await account.json("POST", `${project(repo)}/branches`, { name: "main" });
  const known = new Set();
  for (const files of saves) {
    const actions = Object.entries(files).map(([path, text]) => (known.has(path) ? update(path, text) : create(path, text)));
    for (const path of Object.keys(files)) known.add(path);
    await account.json("POST", `${branch(repo, "main")}/batch`, { actions });
  }
  return repo;
}

/** Fills an empty store, and gives the account that did it. */
export async function seed(base, password) {
  const admin = await Account.login(base, "admin", password);
  for (const name of ["sergei", "anna"]) {
    await admin.json("POST", `${api}/accounts`, { name, password: PASSWORD, roles: ["ROLE_SITEBUILDER_USER__acme"] });
  }
  await admin.json("POST", `${api}/accounts`, { name: "olga", password: PASSWORD, roles: ["ROLE_SITEBUILDER_EDITOR__ROOT"] });
  await admin.json("POST", `${api}/accounts`, { name: "auditor", password: PASSWORD, roles: ["ROLE_SITEBUILDER_EDITOR__READONLY"] });
  for (const [name, type] of [["acme/shop", "erp"], ["acme/warehouse", "erp"], ["nordwind/pos", "erp"]]) {
    await admin.json("POST", `${api}/projects`, { name, type });
    await admin.json("POST", `${project(`${name}.${type}`)}/branches`, { name: "main" });
  }
  await admin.json("POST", `${branch(REPO, "main")}/batch`, {
    message: "Import of the old share",
    actions: [
      create("readme.txt", "Configuration of the shop.\n"),
      create("config/prices.xml", prices("EUR", false)),
      create("config/exchange.json", '{\n  "endpoint": "https://exchange.acme.local/api",\n  "timeout_s": 10,\n  "организация": "Акме"\n}\n'),
      create("config/currencies.yaml", "base: EUR\nothers:\n  - USD\n  - RUB\n"),
      create("config/warehouses.xml", '<warehouses>\n  <warehouse id="msk"/>\n</warehouses>\n'),
      create("rules/скидки.xml", '<Правила>\n  <Скидка группа="Опт" процент="7"/>\n</Правила>\n'),
      create("src/ОбщийМодуль.bsl", module),
      create("templates/invoice.html", "<h1>Invoice</h1>\n"),
      create("assets/logo.bin", "\u0000\u0001\u0002binary"),
    ],
  });
  await admin.send("PUT", file(REPO, "main", "settings/обмен.ini"), windows1251("[Обмен]\r\nТаймаут=10\r\n"));
  const first = await Account.login(base, "sergei", PASSWORD);
  const second = await Account.login(base, "anna", PASSWORD);
  await first.json("POST", `${branch(REPO, "main")}/batch`, {
    message: "New warehouses in Kazan, discount for wholesale 7 → 9 %",
    actions: [
      update("config/warehouses.xml", '<warehouses>\n  <warehouse id="msk"/>\n  <warehouse id="kzn"/>\n</warehouses>\n'),
      update("rules/скидки.xml", '<Правила>\n  <Скидка группа="Опт" процент="9"/>\n</Правила>\n'),
      create("rules/доставка.xml", "<Правила/>\n"),
    ],
  });
  await second.send("PUT", file(REPO, "main", "config/exchange.json"), '{\n  "endpoint": "https://exchange.acme.local/api",\n  "timeout_s": 30,\n  "организация": "Акме"\n}\n');
  await first.send("DELETE", file(REPO, "main", "templates/invoice.html"));
  await first.send("PUT", file(REPO, "main", "config/prices.xml"), prices("USD", true));
  await first.send("PUT", `${file(REPO, "main", "settings/обмен.ini")}?message=${encodeURIComponent("more time for the night run")}`, windows1251("[Обмен]\r\nТаймаут=30\r\n"));
  await admin.json("POST", `${project("nordwind/pos.erp")}/branches`, { name: "release/2025" });
  await admin.send("DELETE", branch("nordwind/pos.erp", "release/2025"));
  await admin.json("POST", `${api}/projects`, { name: "nordwind/old-shop", type: "erp" });
  await admin.send("DELETE", project("nordwind/old-shop.erp"));
  const tokens = [
    { name: "1C production, msk-1", repos: [REPO], fingerprint_required: true, expires_at: null },
    { name: "POS terminals", repos: ["nordwind/pos.erp"], expires_at: new Date(Date.now() + 11 * 86_400_000).toISOString() },
    { name: "Migration laptop", repos: ["*"], expires_at: new Date(Date.now() - 12 * 86_400_000).toISOString() },
    { name: "Nightly export", repos: [REPO, "acme/warehouse.erp", "nordwind/pos.erp"], expires_at: new Date(Date.now() + 220 * 86_400_000).toISOString() },
  ];
  const olga = await Account.login(base, "olga", PASSWORD);
  for (const token of tokens) await olga.json("POST", `${api}/tokens`, token);
  return admin;
}
