//! Expansion of `#[address_space]`, `#[gpu_only]` and `#[externally_visible]`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, Ident, ItemFn, ItemStatic};

pub fn address_space(attr: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let space: Ident = syn::parse2(attr).map_err(|_| {
        let spaces = "#[address_space] takes one of `shared`, `global` and `constant`";
        syn::Error::new(Span::call_site(), spaces)
    })?;
    let item: ItemStatic = syn::parse2(item)?;
    match space.to_string().as_str() {
        "shared" => shared(&item),
        // Where stock rustc places a static.
        "global" | "constant" => Ok(item.into_token_stream()),
        "local" => Err(syn::Error::new_spanned(
            space,
            "a static cannot be in local memory, which each thread has of its own: use a variable",
        )),
        other => Err(syn::Error::new_spanned(
            &space,
            format!(
                "`{other}` is no state space of statics: there are `shared`, `global` and `constant`"
            ),
        )),
    }
}

/// A variable in place of the static: an attribute of a statement may make any statement of it.
fn shared(item: &ItemStatic) -> syn::Result<TokenStream> {
    let ItemStatic {
        attrs, ident, ty, ..
    } = item;
    if matches!(item.mutability, syn::StaticMutability::None) {
        return Err(syn::Error::new_spanned(
            item.static_token,
            "shared memory is not initialised: it takes a `static mut`",
        ));
    }
    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)*
        #[allow(non_snake_case, unused_unsafe)]
        // SAFETY: the array is of this type's size, and every thread of the block reaches it
        // through this reference, as it would through a `static mut`.
        let #ident: &'static mut #ty = unsafe { &mut *::cuda_std::shared_array![#ty; 1] };

        #[cfg(not(target_arch = "nvptx64"))]
        #item
    })
}

pub fn gpu_only(attr: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    refuse_arguments(&attr, "gpu_only")?;
    let function: ItemFn = syn::parse2(item)?;
    let ItemFn {
        attrs, vis, sig, ..
    } = &function;
    let message = format!(
        "`{}` runs on a GPU or on the PTX emulator only",
        function.sig.ident
    );
    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #function

        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(unused_variables)]
        #(#attrs)*
        #vis #sig {
            ::core::panic!(#message)
        }
    })
}

pub fn externally_visible(attr: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    refuse_arguments(&attr, "externally_visible")?;
    let function: ItemFn = syn::parse2(item)?;
    if !function.attrs.iter().any(is_no_mangle) {
        return Err(syn::Error::new_spanned(
            &function.sig.ident,
            "an externally visible function has its own name in the PTX: add #[unsafe(no_mangle)]",
        ));
    }
    // `no_mangle` makes it visible.
    Ok(function.into_token_stream())
}

/// `#[no_mangle]` or `#[unsafe(no_mangle)]`.
fn is_no_mangle(attribute: &Attribute) -> bool {
    let path = attribute.path();
    path.is_ident("no_mangle")
        || path.is_ident("unsafe")
            && attribute
                .parse_args::<Ident>()
                .is_ok_and(|ident| ident == "no_mangle")
}

fn refuse_arguments(attr: &TokenStream, name: &str) -> syn::Result<()> {
    if attr.is_empty() {
        return Ok(());
    }
    Err(syn::Error::new_spanned(
        attr,
        format!("#[{name}] takes no arguments"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_static_is_a_variable_on_a_device() {
        let item = quote!(
            static mut TILE: [MaybeUninit<f32>; 16] = [MaybeUninit::uninit(); 16];
        );
        let expanded = address_space(quote!(shared), item).unwrap().to_string();
        let variable = quote!(let TILE: &'static mut [MaybeUninit<f32>; 16]).to_string();
        assert!(expanded.contains(&variable), "{expanded}");
        assert!(expanded.contains("shared_array"), "{expanded}");
        assert!(expanded.contains("static mut TILE"), "{expanded}");
    }

    #[test]
    fn other_statics_stay() {
        let item = quote!(
            static TABLE: [f32; 2] = [1.0, 2.0];
        );
        for space in [quote!(global), quote!(constant)] {
            let expanded = address_space(space, item.clone()).unwrap();
            assert_eq!(expanded.to_string(), item.to_string());
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_reason() {
        let item = quote!(
            static TABLE: [f32; 2] = [1.0, 2.0];
        );
        for (space, reason) in [
            (quote!(shared), "static mut"),
            (quote!(local), "use a variable"),
            (quote!(texture), "`shared`, `global` and `constant`"),
            (quote!(), "takes one of"),
        ] {
            let message = address_space(space, item.clone()).unwrap_err().to_string();
            assert!(message.contains(reason), "{message}");
        }
        let function = quote!(
            pub extern "C" fn f() {}
        );
        let message = externally_visible(quote!(), function).unwrap_err();
        assert!(message.to_string().contains("no_mangle"), "{message}");
        let message = gpu_only(
            quote!(a),
            quote!(
                fn f() {}
            ),
        )
        .unwrap_err();
        assert!(message.to_string().contains("no arguments"), "{message}");
    }

    #[test]
    fn externally_visible_takes_both_spellings() {
        for item in [
            quote!(
                #[no_mangle]
                pub extern "C" fn f() {}
            ),
            quote!(
                #[unsafe(no_mangle)]
                pub extern "C" fn f() {}
            ),
        ] {
            let expanded = externally_visible(quote!(), item.clone()).unwrap();
            assert_eq!(expanded.to_string(), item.to_string());
        }
    }

    #[test]
    fn a_gpu_only_function_panics_on_a_host() {
        let item = quote!(
            pub fn f(x: u32) -> u32 {
                x + 1
            }
        );
        let expanded = gpu_only(quote!(), item).unwrap().to_string();
        assert!(
            expanded.contains("`f` runs on a GPU or on the PTX emulator only"),
            "{expanded}"
        );
    }
}
